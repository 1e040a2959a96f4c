"""`evidentia leakcheck`: what it prints, its JSON, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline import plants

from .command import evidentia, refused

CHEAP = """
[corpus]
path = "synthetic"
posts = 75
[protocol]
cross_fit = 2
[reranker]
kind = "none"
[graph]
kind = "none"
[gate]
model = "logistic"
"""
CODES = ["CANARY001", "CANARY002", "CANARY003", "CANARY004", "FEAT001"]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "pipeline.toml"
    path.write_text(CHEAP)
    return path


def test_0_when_nothing_is_found(config: Path) -> None:
    ran = evidentia("leakcheck", config, "--posts", 60)
    assert (ran.code, ran.err) == (0, ""), ran
    first, *findings = ran.out.splitlines()
    assert first == "words, bm25, retriever, gate; 60 posts, 20 of them EVAL, seed 7"
    assert [line.split()[0] for line in findings] == CODES
    assert all(": passed, " in line for line in findings)
    assert list(config.parent.iterdir()) == [config]  # nothing is written


def test_1_for_a_leak_and_strict_json(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plants.gate_counts_gold(monkeypatch, "n_gold")
    ran = evidentia("leakcheck", config, "--posts", 60, "--seed", 3, "--json")
    assert (ran.code, ran.err) == (1, "")
    found = json.loads(ran.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert (found["schema"], found["passed"], found["seed"]) == ("evidentia.leakcheck/1", False, 3)
    assert (found["posts"], found["eval_posts"]) == (60, 20)
    by_code = {finding["code"]: finding for finding in found["findings"]}
    assert list(by_code) == CODES
    assert by_code["CANARY001"]["message"].startswith("these move: gate hears n_gold")
    assert (by_code["FEAT001"]["status"], "n_gold" in by_code["FEAT001"]["message"]) == ("failed", True)


def test_2_for_bad_input(config: Path, tmp_path: Path) -> None:
    refused(evidentia("leakcheck", tmp_path / "none.toml"), "none.toml")
    refused(evidentia("leakcheck", config, "--posts", 29), "29 posts are too few", "Give 30 or more")
    config.write_text(CHEAP.replace("75", "20"))
    refused(evidentia("leakcheck", config), "The corpus has 20 posts")
    config.write_text('[corpus]\npath = "nowhere"\n')
    refused(evidentia("leakcheck", config), "nowhere")
