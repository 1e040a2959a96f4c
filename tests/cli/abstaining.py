"""Small runs of predictors that may abstain, on disk; other suites use them too."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.command import Ran, evidentia
from evidentia.results import loads
from evidentia.synth import synthetic_phq8

FEW = ("--seed", "5", "--resamples", "200")
HEAD = "cluster_id,item,pred,gt,confidence"
ROWS = (
    *("ann,q1,2,2,0.9", "ann,q2,0.5,2,0.2", "ann,q3,,1,"),
    *("ben,q1,3,1,0.9", "ben,q2,1,1,0.6", "ben,q3,,0,"),
    *("cat,q1,1,1,0.4", "cat,q2,2,0,0.4", "cat,q3,0,0,0.8"),
)


@dataclass(frozen=True)
class Abstaining:
    """PHQ-8 runs of 12 participants, two of whom failed, and a table of nine rows without any such layout."""

    both: Path
    zero: Path
    few: Path
    table: Path


def experiment(document: Mapping, mode: str) -> dict:
    """One experiment of a PHQ-8 file."""
    return next(e for e in document["experiments"] if e["results"]["mode"] == mode)


def make_runs(folder: Path) -> Abstaining:
    """Write both modes in one file and each in its own, and the table."""
    document = json.loads(json.dumps(synthetic_phq8(seed=4, participants=12, failures=2, abstention=0.4)))
    files = Abstaining(*(folder / name for name in ("both.json", "zero.json", "few.json", "table.csv")))
    files.both.write_text(json.dumps(document))
    for path, mode in ((files.zero, "zero_shot"), (files.few, "few_shot")):
        path.write_text(json.dumps(document | {"experiments": [experiment(document, mode)]}))
    files.table.write_text("\n".join([HEAD, *ROWS]) + "\n")
    return files


def changed(source: Path, target: Path, change: Callable[[dict], object]) -> Path:
    """The run with every successful result changed, in another file."""
    document = copy.deepcopy(json.loads(source.read_text()))
    for one in document["experiments"]:
        for result in one["results"]["results"]:
            if result["success"]:
                change(result)
    target.write_text(json.dumps(document))
    return target


def silent(result: dict) -> None:
    """Abstain on everything."""
    result["predicted_items"] = dict.fromkeys(result["predicted_items"])


def outspoken(result: dict) -> None:
    """Answer everything, the same score everywhere."""
    result["predicted_items"] = dict.fromkeys(result["predicted_items"], 1)
    for signals in result["item_signals"].values():
        signals |= {"verbalized_confidence": 3, "token_msp": 0.5}


def strict(ran: Ran) -> dict:
    """What a command printed, as strict JSON."""
    assert (ran.code, ran.err) == (0, ""), ran
    return loads(ran.out)


def summary_of(*words: object) -> dict:
    """The summary that `evidentia selective WORDS...` prints."""
    return strict(evidentia("selective", *words, *FEW, "--json"))


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Abstaining:
    return make_runs(tmp_path_factory.mktemp("abstaining"))
