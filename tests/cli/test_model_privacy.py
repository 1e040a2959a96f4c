"""What a trained model says of the posts that it learnt from: no term of fewer than three of them, and to its owner only."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.pipelines import small_config, small_corpus

from .command import evidentia

PHRASE = "zebulon lent quokkas"  # a name and what one person wrote, in one post; one word of it in two
CONFIG = '[retriever]\nkind = "{kind}"\n[reranker]\nlearners = ["words", "characters"]\nmodel = "logistic"\n'


def trained(home: Path, kind: str = "bm25", min_posts: str = "") -> Path:
    small_corpus(home / "corpus")
    path = home / "corpus" / "documents.jsonl"
    posts = [json.loads(line) for line in path.read_text().splitlines()]
    posts[0]["sentences"][0]["text"] = PHRASE
    posts[0]["sentences"][1]["text"] = PHRASE
    posts[0]["sentences"][2]["text"] = PHRASE
    posts[1]["sentences"][0]["text"] = f"{PHRASE.split()[2]} quokkas"
    path.write_text("".join(json.dumps(post) + "\n" for post in posts))
    config = small_config(home)
    text = re.sub(r"(?ms)^\[reranker\].*?(?=^\[graph\])", CONFIG.format(kind=kind), config.read_text())
    config.write_text(text.replace("[run]", f"{min_posts}\n[run]"))
    ran = evidentia("run", config, "-o", home / "run", "--resamples", "0", "--no-report", "--no-verify")
    assert ran.code == 0, ran
    return home / "run" / "models"


def lists_in(content: Any, name: str = "") -> Iterator[tuple[str, list[Any]]]:
    if isinstance(content, dict):
        for key, value in content.items():
            yield from lists_in(value, key)
    elif isinstance(content, list):
        yield name, content


def words(sentence: str) -> str:
    found = re.findall(r"\b\w+\b|[!?]", sentence.lower())
    return f" {' '.join(found)} "


def characters(sentence: str) -> str:
    return "\n".join(f" {word} " for word in sentence.lower().split())


def terms(models: Path) -> Iterator[tuple[Path, str, str]]:
    """Every text in a list of a model's file, but names of features, with the form in which sentences hold it."""
    for path in sorted(models.glob("*/*/model.json")):
        document = json.loads(path.read_text())
        for name, values in lists_in(document):
            if name in {"features", "arrivals"}:
                continue
            kind = document["space"].get("kind", "words")
            yield from ((path, kind, value) for value in values if isinstance(value, str))


@pytest.mark.sample(every=2)
@pytest.mark.parametrize("kind", ["bm25", "words"])
def test_no_term_of_fewer_than_three_posts_is_in_any_file(kind: str, tmp_path: Path) -> None:
    models = trained(tmp_path, kind)
    posts = [
        json.loads(line)["sentences"] for line in (tmp_path / "corpus" / "documents.jsonl").read_text().splitlines()
    ]
    forms = {form.__name__: [[form(one["text"]) for one in post] for post in posts] for form in (words, characters)}
    found = list(terms(models))
    assert len(found) > 2000
    assert {path.parent.name for path, *_ in found} >= {"retriever", "words", "characters", "graph"}
    for path, form, term in found:
        asked = term if form == "characters" else f" {term} "
        holding = sum(any(asked in sentence for sentence in post) for post in forms[form])
        assert holding >= 3, (path.parent, term, holding)
    every = b"".join(path.read_bytes() for path in models.rglob("*") if path.is_file())
    assert b"quokka" not in every
    assert b"zebul" not in every


@pytest.mark.slow
def test_a_setting_says_how_many(tmp_path: Path) -> None:
    models = trained(tmp_path, min_posts="min_posts = 1")
    assert "zebulon lent" in {term for _, _, term in terms(models)}
    document = json.loads((models / "final" / "pipeline.json").read_text())
    assert document["config"]["protocol"]["min_posts"] == 1


def test_only_the_owner_can_read_a_model(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        models = trained(tmp_path)
    finally:
        os.umask(before)
    for path in (models, *models.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path
