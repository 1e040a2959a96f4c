"""The configuration of a pipeline: one TOML file, every problem of it found at once, and one form for manifests and hashes."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from evidentia.errors import InputError, Problem
from evidentia.pipeline.config.conflicts import clashes
from evidentia.pipeline.config.models import settings_of
from evidentia.pipeline.config.reader import Reader
from evidentia.pipeline.config.tables import (
    SYNTHETIC,
    CorpusConfig,
    GateConfig,
    GraphConfig,
    ProtocolConfig,
    RerankerConfig,
    RetrieverConfig,
    RunConfig,
    SelectionConfig,
    ThreeStateConfig,
)
from evidentia.protocol.tuned import Choices
from evidentia.tables.card import built_in_cards
from evidentia.tables.files import read_content
from evidentia.tables.limits import parse_toml

CONFLICT, NOT_TOML = "CONFIG_CONFLICT", "CONFIG_TOML"
_TWICE = re.compile(r"Cannot (overwrite|declare|mutate|redefine)|Duplicate")
_HARMLESS = re.compile(r"[\w '\[\]=/\\-]{1,60}", re.ASCII)  # a reason that quotes no more than a character of the file


@dataclass(frozen=True)
class Config:
    """Everything that a run is told. ``base`` is the folder that its paths start from; it is no part of the configuration."""

    corpus: CorpusConfig
    protocol: ProtocolConfig = field(default_factory=ProtocolConfig)
    run: RunConfig = field(default_factory=RunConfig)
    retriever: RetrieverConfig = field(default_factory=RetrieverConfig)
    reranker: RerankerConfig = field(default_factory=RerankerConfig)
    graph: GraphConfig = field(default_factory=GraphConfig)
    selection: SelectionConfig = field(default_factory=SelectionConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    three_state: ThreeStateConfig = field(default_factory=ThreeStateConfig)
    base: Path = field(default=Path(), compare=False)

    @property
    def corpus_folder(self) -> Path | None:
        """Where the corpus should be; None stands for the synthetic one."""
        return None if self.corpus.path == SYNTHETIC else self._place(self.corpus.path)

    @property
    def card(self) -> str | Path | None:
        """The dataset card as `load_card` takes it."""
        name = self.corpus.card
        return name if name is None or name in built_in_cards() else self._place(name)

    @property
    def cache(self) -> Path | bool:
        """The folder of the cache; True is the usual one, False none."""
        return self.run.cache if isinstance(self.run.cache, bool) else self._place(self.run.cache)

    @property
    def mean_k_at_most(self) -> float | None:
        """What a tuned gamma must keep to; None where it is given."""
        return self.selection.mean_k_at_most if self.selection.tunes_gamma else None

    @property
    def choices(self) -> Choices:
        """What is tuned behind the gate."""
        three = self.three_state
        return Choices(three.chosen_rule, three.targets, calibrate=self.gate.calibrate, seed=self.protocol.seed)

    def located(self, spec: str) -> str:
        """The spec of a model, with the folder found if it is one that lies beside this configuration."""
        name, colon, which = spec.partition(":")
        local = name in {"sentence-transformers", "cross-encoder"} and os.path.isdir(self._place(which))
        return f"{name}{colon}{self._place(which)}" if local else spec

    def model_settings(self, spec: str) -> dict[str, Any]:
        """What is set about a model, wherever the file names it: the retriever's own word comes first."""
        if spec in self.retriever.kind:
            return self.retriever.model.given(spec)
        if spec == self.reranker.kind:
            form = {"form": self.reranker.form} if spec.startswith("http:") else {}
            return {**self.reranker.model_settings.given(spec), **form}
        used = self.reranker.uses_vectors and spec == self.reranker.vectors
        return self.reranker.model_settings.given(spec) if used else {}

    def to_dict(self) -> dict[str, Any]:
        """The form that is written: every default filled in, ready for JSON; `parse_config` reads it back.

        Of an absolute path of the corpus, the card or the cache only the last part is written.
        """
        return self._written(everything=True)

    def deciding(self) -> dict[str, Any]:
        """The same without what changes no result: workers, the cache, and how servers are asked."""
        return self._written(everything=False)

    def digest(self) -> str:
        """The SHA-256 of what decides the results, the same on every machine."""
        text = json.dumps(self.deciding(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return sha256(text.encode("ascii")).hexdigest()

    def _written(self, *, everything: bool) -> dict[str, Any]:
        content = _written(self, everything=everything)
        if not self.selection.tunes_gamma and isinstance(self.selection.gamma, str):
            content["selection"]["gamma"] = None  # no policy reads it
        return content

    def _place(self, path: str) -> Path:
        return self.base / os.path.expanduser(path)  # the method of Path fails for unknown users


def read_config(path: str | Path) -> Config:
    """Read a TOML file; whatever is wrong with it comes as one InputError."""
    path = Path(path)
    content = read_content(path)
    text = content.text().decode() if content.data.strip() else ""
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise InputError(_not_toml(path.name, text, error)) from None
    return parse_config(document, base=path.parent, name=path.name)


def parse_config(content: Mapping[str, Any], *, base: Path, name: str = "configuration") -> Config:
    """Check a configuration. ``base`` is the folder that its paths start from; they need not exist yet.

    >>> parse_config({"corpus": {"path": "synthetic"}}, base=Path()).retriever.kind
    ('bm25',)
    """
    reader = Reader(name)
    config = Config(**reader.tables(Config, content), base=base)
    for clash in clashes(config, frozenset(reader.given)):
        if not reader.faulty.intersection(clash.keys):
            reader.problems.append(Problem(CONFLICT, f"{name}: {clash.message}"))
    if reader.problems:
        raise InputError(*reader.problems)
    return config


def _written(table: Any, *, everything: bool) -> dict[str, Any]:
    settings = dict(settings_of(type(table)))
    content: dict[str, Any] = {}
    for each in fields(table):
        value, setting = getattr(table, each.name), settings.get(each.name)
        if is_dataclass(value):
            content[each.name] = _written(value, everything=everything)
        elif setting is not None and (everything or setting.decides):
            content[each.name] = None if value is None else setting.kind.written(value)
    return content


def _not_toml(name: str, text: str, error: ValueError) -> Problem:
    """Name the line; of the reason only what holds nothing of the file."""
    reason, _, behind = str(error).partition(" (at ")
    place = re.match(r"line \d+, column \d+", behind)
    where = place[0] if place else f"line {text.count(chr(10)) + 1}, the last" if behind else "some line"
    if not isinstance(error, tomllib.TOMLDecodeError):
        pass  # our own words
    elif _TWICE.match(reason):
        reason = "a key or a table is given twice"
    elif not _HARMLESS.fullmatch(reason):
        reason = "something that does not belong there"
    why = reason[:1].lower() + reason[1:]
    return Problem(NOT_TOML, f"{name}: not TOML ({where}: {why}). Texts stand in quotes, tables in [brackets].")
