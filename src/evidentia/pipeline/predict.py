"""A trained pipeline on new posts: states, probabilities and evidence sentences."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evidentia.corpus import Criterion, Posts
from evidentia.errors import InputError
from evidentia.pipeline.build import system_of
from evidentia.pipeline.config import parse_config, read_config
from evidentia.pipeline.cutting import ENOUGH, SentenceCut
from evidentia.pipeline.decide import Decider, Scored
from evidentia.pipeline.permission import Permission
from evidentia.pipeline.plan import Division
from evidentia.pipeline.selection import Policy, Selection
from evidentia.pipeline.stage import Parts, View
from evidentia.pipeline.store import first_damaged, folder_sha256, load_parts
from evidentia.pipeline.system import GATE, System
from evidentia.pipeline.tables import Decisions, predicted_rows
from evidentia.pipeline.vocabulary import known_words, unknown_words
from evidentia.pipeline.work import after
from evidentia.protocol import Tuning, to_document
from evidentia.protocol.calibrators import Calibrator
from evidentia.protocol.provenance import Provenance
from evidentia.protocol.tuning import FoldTuning
from evidentia.results import loads

FILE, SCHEMA = "pipeline.json", "evidentia.model/2"
AGAIN = "Train again with `evidentia run`."
DAMAGE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)  # after an edit whose hashes were renewed
_USUAL = ("models/final", "final", "models/fold-0")


@dataclass(frozen=True, eq=False)
class Trained:
    """A pipeline as `evidentia run` wrote it: the system, what each step learnt, and what was tuned."""

    system: System
    learnt: Mapping[str, Mapping[str, Parts]]
    decider: Decider
    criteria: tuple[Criterion, ...]
    trained_on: frozenset[str]
    tuned_on: frozenset[str]
    cut: SentenceCut
    unknown_words: float | None = None
    sha256: str = ""
    notes: tuple[str, ...] = ()
    tuned_by: Mapping[str, Any] | None = None  # rule and targets, where others than those of the configuration

    def seen(self, posts: Posts) -> int:
        """How many of the posts it was trained or tuned on: of those it says more than it could know."""
        return len((self.trained_on | self.tuned_on) & set(posts.post_ids))

    def score(self, posts: Posts) -> Scored:
        """What every step says of new posts."""
        view = View.of(posts)
        for step in self.system.steps:
            keep = step.cut(lambda step=step: self.learnt[step.name]["model"])  # type: ignore[misc]
            view = after(view, step.name, self._ask(step.name, view), keep)
        nobody, everybody = np.zeros(0, np.int64), np.arange(len(posts))
        return Scored(Division("", nobody, nobody, everybody, nobody), view, self._ask(GATE, view))

    def _ask(self, name: str, view: View) -> Any:
        stage = next(step.stage for step in self.system if step.name == name)
        space, model = self.learnt[name]["space"], self.learnt[name]["model"]
        return stage.score(space, model, stage.inputs(space, view))

    def predict(self, posts: Posts, *, texts: bool = False, splitter: str | None = None) -> pl.DataFrame:
        """A row per query: probability, state, the evidence sentences; their texts only on request.

        Warns where the posts look unlike those of training; ``splitter`` is what cut them, if one did.
        """
        for difference in self.differences(posts, splitter):
            warnings.warn(difference, stacklevel=2)
        return self.rows(posts, texts=texts)

    def differences(self, posts: Posts, splitter: str | None = None) -> Iterator[str]:
        """What makes posts look unlike those of training, in sentences to be printed; ``splitter`` is what cut them."""
        yield from self.cut.differences(posts, splitter)
        if len(posts) >= ENOUGH:
            yield from unknown_words(posts, self.known_words, self.unknown_words)

    @cached_property
    def known_words(self) -> frozenset[str]:
        """The words that the pipeline has met."""
        try:
            return known_words(self.learnt)
        except DAMAGE as error:
            raise _inapplicable(error) from error

    def rows(self, posts: Posts, *, texts: bool = False) -> pl.DataFrame:
        """The same without a look at what the posts are like."""
        return predicted_rows(posts, self.decide(posts), self.decider.tuning.taus, texts=texts)

    @property
    def thresholds(self) -> dict[str, Any]:
        """What parts the states, as a thresholds file has it, and the posts that the model learnt from."""
        choices = self.tuned_by or self.system.choices.to_dict()
        tuning = Tuning("detection_score", choices, (self.decider.tuning,))
        return to_document(tuning) | {"model": {"sha256": self.sha256, "trained_on": sorted(self.trained_on)}}

    def decide(self, posts: Posts) -> Decisions:
        """What it answers, as arrays."""
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                return Decisions.of(self.score(posts), self.decider, ranked_by=self.system.last)
        except DAMAGE as error:
            raise _inapplicable(error) from error


def _inapplicable(error: Exception) -> InputError:
    return InputError(f"What the model learnt cannot be applied ({type(error).__name__}). {AGAIN}")


def load_trained(
    folder: Path | str,
    *,
    allow_endpoints: Iterable[str] = (),
    allow_keys: Iterable[str] = (),
    trust_remote_code: bool = False,
    config: Path | str | None = None,
    sha256: str | None = None,
    keep_vectors: bool = True,
) -> Trained:
    """Read a trained pipeline: the folder of a run (its model for use), of its models, or of one fold.

    A folder may come from anybody. Servers that it names must be in ``allow_endpoints``, variables that hold keys in
    ``allow_keys`` (else no key is sent), or both in ``config``, a configuration of one's own; code of models runs only with
    ``trust_remote_code`` here too. ``sha256`` is the hash that the folder must have, as `evidentia run` printed it.
    Folders of models that its configuration names are looked for from the working directory. Without ``keep_vectors`` no
    vector of a new post goes into a cache.
    """
    own = None if config is None else read_config(config)
    allowed = Permission.of(allow_endpoints, allow_keys, remote_code=trust_remote_code, config=own)
    home = model_folder(Path(folder))
    if (damaged := first_damaged(home)) is not None:
        raise InputError(f"{home.resolve().name}/{damaged} is damaged or missing. {AGAIN}")
    actual = folder_sha256(home)
    if sha256 is not None and _digest(sha256) != actual:
        raise InputError(
            f"{home.resolve().name} is another model: its SHA-256 is {actual}. Use the one that you trust."
        )
    try:
        document = loads((home / FILE).read_bytes())
        if document.get("schema") != SCHEMA:
            raise ValueError("another schema")
        return replace(_trained(home, document, allowed, keep_vectors=keep_vectors), sha256=actual)
    except (OSError, *DAMAGE):
        raise InputError(f"{home.resolve().name}/{FILE} cannot be read. {AGAIN}") from None


def model_folder(folder: Path) -> Path:
    """Where the trained pipeline of a folder is: in it, or in the usual places below."""
    home = next((place for place in (folder, *(folder / name for name in _USUAL)) if (place / FILE).is_file()), None)
    if home is None:
        raise InputError(
            f"{folder.resolve().name} holds no trained pipeline. Give the folder of `evidentia run`, or of one of its models."
        )
    return home


def _digest(text: str) -> str:
    digest = text.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        raise InputError("A SHA-256 has 64 digits from 0 to f. `evidentia run` prints that of its model.")
    return digest


def _trained(home: Path, document: Mapping[str, Any], allowed: Permission, *, keep_vectors: bool) -> Trained:
    config, notes = allowed.applied(parse_config(document["config"], base=Path()), home.resolve().name)
    # a folder of where it was trained says nothing here, and another was not asked for
    config = replace(config, run=replace(config.run, cache=keep_vectors and config.run.cache is True))
    system = system_of(config)
    criteria = tuple(
        Criterion(entry["criterion_id"], entry["text"], tuple(entry["prototypes"])) for entry in document["criteria"]
    )
    decisions = document["decisions"]
    return Trained(
        system,
        {step.name: load_parts(home / step.name) for step in system},
        _decider(system, document["tuning"], decisions),
        criteria,
        frozenset(map(str, document["trained_on"])),
        frozenset(decisions["tuned_on"]["posts"]),
        SentenceCut(**document["sentences"]),
        None if (usual := document.get("unknown_words")) is None else float(usual),
        notes=notes,
    )


def _decider(system: System, tuning: Mapping[str, Any], decisions: Mapping[str, Any]) -> Decider:
    node = decisions["node_calibrator"]
    parameters = {name: tuple(map(float, values)) for name, values in node["parameters"].items()}
    nodes = Calibrator(node["method"], parameters, tuned_on=Provenance(None, "detection_score"))
    chosen = decisions["selection"]
    selection = Selection(_policy(chosen["standard"]), _policy(chosen["uncertain"]), system.selection.limits)
    named: Sequence[str] = decisions["tuned_on"]["posts"]
    return Decider(nodes, FoldTuning.from_dict(tuning), selection, chosen["applies_to"], tuple(named))


def _policy(content: Mapping[str, Any]) -> Policy:
    settings = {name: value for name, value in content.items() if name != "policy"}
    return Policy(content["policy"], **settings)
