"""The configuration of a pipeline as a whole: its tables, where its paths lead, and one form for manifests and hashes."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

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
    settings_of,
    subtables,
)
from evidentia.protocol import Choices, parse_rule
from evidentia.tables.card import built_in_cards


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
        rule = None if self.three_state.rule is None else parse_rule(self.three_state.rule)
        return Choices(rule, self.three_state.targets, calibrate=self.gate.calibrate, seed=self.protocol.seed)

    def located(self, spec: str) -> str:
        """The spec of a model, with the folder found if it is one that lies beside this configuration."""
        name, colon, which = spec.partition(":")
        local = name in {"sentence-transformers", "cross-encoder"} and os.path.isdir(self._place(which))
        return f"{name}{colon}{self._place(which)}" if local else spec

    def model_settings(self, spec: str) -> dict[str, Any]:
        """What is set about a model, wherever the file names it: the retriever's own word comes first."""
        ranker = self.reranker
        if spec in self.retriever.kind:
            return self.retriever.model.given(spec)
        if spec == ranker.kind:
            form = {"form": ranker.form} if spec.startswith("http:") else {}
            return {**ranker.model_settings.given(spec), **form}
        return ranker.model_settings.given(spec) if ranker.uses_vectors and spec == ranker.vectors else {}

    def to_dict(self, *, deciding: bool = False) -> dict[str, Any]:
        """The form that is written: every default filled in, ready for JSON; `parse_config` reads it back.

        Of an absolute path of the corpus, the card or the cache only the last part is written. With ``deciding`` what changes
        no result is left out: workers, the cache, and how servers are asked.
        """
        content = _written(self, deciding=deciding)
        if not self.selection.tunes_gamma and isinstance(self.selection.gamma, str):
            content["selection"]["gamma"] = None  # no policy reads it
        return content

    def digest(self) -> str:
        """The SHA-256 of what decides the results, the same on every machine."""
        text = json.dumps(self.to_dict(deciding=True), sort_keys=True, separators=(",", ":"), allow_nan=False)
        return sha256(text.encode("ascii")).hexdigest()

    def _place(self, path: str) -> Path:
        return self.base / os.path.expanduser(path)  # the method of Path fails for unknown users


def _written(table: Any, *, deciding: bool) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, setting in settings_of(type(table)):
        if setting.decides or not deciding:
            value = getattr(table, key)
            content[key] = None if value is None else setting.kind.written(value)
    return content | {key: _written(getattr(table, key), deciding=deciding) for key in subtables(type(table))}
