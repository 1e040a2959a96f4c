"""The commands of `evidentia assess`, as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evidentia.cli.main import application
from evidentia.errors import InputError, OutputError


def typed(*words: object) -> str:
    """What a command prints; errors are raised as the library raises them."""
    outcome = CliRunner().invoke(application("assess"), ["assess", *map(str, words)])
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome.output


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty interviews to learn from, and a model."""
    home = tmp_path_factory.mktemp("assess")
    typed("synth", "-o", home / "a", "--participants", 60)
    typed("fit", home / "a/transcripts", "--truth", home / "a/truth.csv", "-o", home / "model", "--folds", 2, "-q")
    return home


def test_from_interviews_to_a_run_of_two_scorers(home: Path, tmp_path: Path) -> None:
    typed("synth", "-o", tmp_path / "b", "--bank", "b", "--participants", 5)
    files = (tmp_path / "b/transcripts", "--truth", tmp_path / "b/truth.csv")
    assert "5 participants" in typed("check", *files)
    out = tmp_path / "run.json"
    assert "never a diagnosis" in typed("run", *files, "-o", out, "--quotes", tmp_path / "quotes.jsonl")
    typed("run", *files, "-o", out, "--scorer", f"learned:{home / 'model'}")
    document = json.loads(out.read_text())
    assert [e["provenance"]["mode"] for e in document["experiments"]] == ["rules", "learned"]
    quotes = [json.loads(line) for line in (tmp_path / "quotes.jsonl").read_text().splitlines()]
    first = quotes[0]
    shown = typed(
        "explain", out, first["participant_id"], first["item"], "--mode", "rules", "--texts", tmp_path / "b/transcripts"
    )
    assert first["text"] in shown
    assert first["text"] not in typed("explain", out, first["participant_id"], first["item"], "--mode", "rules")


def test_the_out_of_fold_run_is_beside_the_model(home: Path) -> None:
    document = json.loads((home / "model/out-of-fold.json").read_text())
    provenance = document["experiments"][0]["provenance"]
    assert (provenance["mode"], provenance["out_of_fold"], provenance["trained_on"]) == ("learned", 2, 60)


def test_what_is_there_is_not_replaced(home: Path) -> None:
    with pytest.raises(OutputError, match="--force"):
        typed("synth", "-o", home / "a", "--participants", 60)
    with pytest.raises(OutputError, match="--force"):
        typed("fit", home / "a/transcripts", "--truth", home / "a/truth.csv", "-o", home / "model")


@pytest.mark.parametrize("scorer", ["magic", "learned", "rules:x"])
def test_other_scorers_are_refused(scorer: str, home: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Scorers are"):
        typed("run", home / "a/transcripts", "-o", tmp_path / "run.json", "--scorer", scorer)


def test_risk_says_where_and_not_what(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("Interviewer: How are you?\nParticipant: Some days I want to die.\n")
    said = typed("risk", tmp_path)
    assert "participant 1: turn 1, characters 12 to 23" in said
    assert "want to die" not in said
    assert "does not mean that there is no risk" in said


@pytest.mark.parametrize(
    ("scorer", "option", "owner"),
    [
        ("learned:model", "--vectors", "rules"),
        ("rules", "--shots=3", "llm"),
        ("rules", "--llm-run=run.json", "learned"),
    ],
)
def test_an_option_of_another_scorer_is_refused(scorer: str, option: str, owner: str, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("participant_id,text\n1,I sleep well.\n", encoding="utf-8")
    words = ("run", tmp_path / "texts.csv", "--scorer", scorer, option, "-o", tmp_path / "run.json")
    with pytest.raises(InputError, match=f"{option.partition('=')[0]} is for {owner}"):
        typed(*words)
    assert not (tmp_path / "run.json").exists()
