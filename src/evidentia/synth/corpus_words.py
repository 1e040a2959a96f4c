"""The words that the synthetic corpus is made of, as they are written down in ``corpus_text``; all of them are our own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

Texts = tuple[str, ...]
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CriterionWords:
    """What can be said for a criterion, and what only sounds like it.

    ``direct`` and ``indirect`` are clauses whose person and tense can be changed: in the first person, now, they are evidence.
    """

    criterion_id: str
    name: str
    rate: float  # the share of posts with evidence
    text: str
    direct: Texts
    indirect: Texts
    fine: Texts  # the opposite, to go with a negation
    idiom: Texts
    keyword: Texts
    general: Texts
    vague: Texts
    pairs: Pairs  # evidence that takes two sentences
    context: Pairs  # a question, and an answer that is evidence after it


@dataclass(frozen=True)
class Words:
    """Everything that is written down: per criterion, per topic, and what all sentences share."""

    criteria: tuple[CriterionWords, ...]
    slots: Mapping[str, Texts]
    same: Mapping[str, Texts]  # slots that keep their value for the length of a post
    topics: Mapping[str, Texts]
    greetings: Texts
    decoys: Pairs  # answers that are evidence after another question
    shared: Mapping[str, Mapping[str, Texts]]  # frames around a clause, openers and tails


@cache
def words() -> Words:
    """Read the tables that ship with the package, once.

    >>> [criterion.criterion_id for criterion in words().criteria][:2]
    ['A.1', 'A.2']
    """
    folder = resources.files("evidentia.synth") / "corpus_text"
    tables = {
        file.name: tomllib.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".toml")
    }
    decoys = _pairs(tables["shared.toml"].pop("decoys")["pairs"])
    shared = {name: _texts(table) for name, table in tables["shared.toml"].items()}
    filler = tables["filler_a.toml"] | tables["filler_b.toml"]
    greetings = tuple(filler.pop("forum")["frames"])
    return Words(
        criteria=tuple(_criterion(table) for table in tables.values() if "id" in table),
        slots=shared.pop("slots"),
        same=_texts(filler.pop("same")),
        topics={name: tuple(table["frames"]) for name, table in filler.items()},
        greetings=greetings,
        decoys=decoys,
        shared=shared,
    )


def _criterion(table: Mapping[str, Any]) -> CriterionWords:
    named = {"criterion_id" if name == "id" else name: value for name, value in table.items()}
    lists = {name: tuple(value) for name, value in named.items() if isinstance(value, list)}
    pairs = {name: _pairs(table[name]) for name in ("pairs", "context")}
    return CriterionWords(**(named | lists | pairs))


def _texts(table: Mapping[str, list[str]]) -> Mapping[str, Texts]:
    return {name: tuple(values) for name, values in table.items()}


def _pairs(table: list[list[str]]) -> Pairs:
    return tuple((first, second) for first, second in table)
