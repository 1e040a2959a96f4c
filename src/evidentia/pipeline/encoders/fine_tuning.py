"""A cross-encoder of one's own: MiniLM (or another model) learns from labelled pairs which passages answer their query.

The head of such a model starts at random, so nothing can be scored before it has learnt. A thousand pairs of a
sentence each took some 70 seconds of one CPU core per epoch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidentia.array_types import Bools
from evidentia.errors import InputError, OutputError, counted, typed
from evidentia.pipeline.encoders.forward import padded, run_batches
from evidentia.pipeline.encoders.interface import Progress, finite
from evidentia.pipeline.encoders.minilm import minilm_folder, plain_text
from evidentia.pipeline.encoders.sources import WeightSource, loaded
from evidentia.pipeline.extras import neural
from evidentia.pipeline.learning import descend, mean_losses, one_thread, plan_batches, quiet, reproducible
from evidentia.pipeline.settings import key_of, same_length
from evidentia.pipeline.stage import Parts
from evidentia.results import loads
from evidentia.results.folder import owners_only

DOCUMENT = "evidentia.json"
SCHEMA = "evidentia.cross-encoder/1"
MINILM = "minilm"


@dataclass(frozen=True)
class FineTuning:
    """How a cross-encoder was fine-tuned: ``losses`` has the mean loss of every epoch."""

    base: str
    seed: int
    epochs: int
    batch_size: int
    learning_rate: float
    max_tokens: int
    pairs: int
    positives: int
    losses: tuple[float, ...]


class CrossEncoder:
    """A fine-tuned cross-encoder. A pair has the same score to the byte whatever pairs are scored with it."""

    def __init__(self, tokenizer: Any, model: Any, lesson: FineTuning) -> None:
        self.lesson = lesson
        self._tokenizer = tokenizer
        self._model = model.eval()

    @cached_property
    def key(self) -> str:
        """From the weights, the tokenizer and how many tokens are read."""
        tokens = sha256(self._tokenizer.backend_tokenizer.to_str().encode()).hexdigest()
        own = {"scorer": "fine-tuned/1", "weights": _weights_hash(self._model), "tokenizer": tokens}
        return key_of(own, {"max_tokens": self.lesson.max_tokens})

    def score(
        self, queries: Sequence[str], passages: Sequence[str], *, progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """One logit per pair."""
        same_length(len(queries), len(passages))
        if not queries:
            return np.zeros(0, np.float32)
        tokens = _Tokens(self._tokenizer, queries, passages, self.lesson.max_tokens)

        def run(batch: list[int]) -> Any:
            with neural("torch").inference_mode():
                return self._model(**tokens.batch(batch)).logits.numpy()

        with one_thread():
            return finite(run_batches(tokens.lengths, run, 1, progress)[:, 0], "The cross-encoder")

    def save(self, folder: Path) -> None:
        """Write it in the form that transformers reads (safetensors), with a record of how it was made."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            is_new = not any(folder.iterdir())
            with quiet():
                self._model.save_pretrained(folder)
                self._tokenizer.save_pretrained(folder)
            document = {"schema": SCHEMA, "weights": _weights_hash(self._model), "lesson": asdict(self.lesson)}
            text = json.dumps(document, indent=2, allow_nan=False) + "\n"
            (folder / DOCUMENT).write_text(text, encoding="utf-8")
            if is_new:
                owners_only(folder)
        except OSError as error:
            raise OutputError(f"Cannot write the cross-encoder into {folder.name}: {error.strerror}.") from None

    @classmethod
    def load(cls, folder: Path) -> CrossEncoder:
        """Read what ``save`` wrote; weights that are not the ones of the record are refused."""
        try:
            document = loads((folder / DOCUMENT).read_text(encoding="utf-8"))
            content = document["lesson"]
            lesson = FineTuning(**{**content, "losses": tuple(content["losses"])})
            right = document["schema"] == SCHEMA
        except (OSError, ValueError, LookupError, TypeError):
            right = False
        if not right:
            raise InputError(f"{typed(folder.name)} holds no cross-encoder that this version fine-tuned.")
        tokenizer, model = _load(folder)
        if document["weights"] != _weights_hash(model):
            raise InputError(f"{typed(folder.name)}: the weights are not those that {DOCUMENT} was written with.")
        return cls(tokenizer, model, lesson)

    def to_parts(self) -> Parts:
        """All weights as arrays, for models whose words and shape are those of MiniLM."""
        assert self.lesson.base == MINILM
        weights = {name: value.detach().numpy() for name, value in self._model.state_dict().items()}
        return Parts({"lesson": {**asdict(self.lesson), "losses": list(self.lesson.losses)}}, weights)

    @classmethod
    def from_parts(cls, saved: Parts) -> CrossEncoder:
        """The model that ``to_parts`` wrote down."""
        content = saved.document["lesson"]
        tokenizer, model = _load(minilm_folder())
        torch = neural("torch")
        try:
            model.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in saved.arrays.items()})
        except (RuntimeError, TypeError):
            raise InputError("The weights of the fine-tuned cross-encoder are not those of a MiniLM.") from None
        return cls(tokenizer, model, FineTuning(**{**content, "losses": tuple(content["losses"])}))


def is_fine_tuned(folder: Path) -> bool:
    """Whether ``save`` wrote this folder."""
    return (folder / DOCUMENT).is_file()


def fine_tune(
    queries: Sequence[str],
    passages: Sequence[str],
    labels: Bools,
    *,
    base: str = MINILM,
    seed: int,
    epochs: int = 1,
    batch_size: int = 16,
    learning_rate: float = 5e-5,
    max_pairs: int | None = None,
    max_tokens: int = 128,
    progress: Progress | None = None,
) -> CrossEncoder:
    """Learn which pairs belong together, by log-loss, AdamW and a learning rate that rises for a tenth and then falls.

    ``base`` is ``minilm`` or the folder of a model. Of more than ``max_pairs`` pairs some are drawn: positives first, up to
    half. The same seed gives the same weights to the byte.
    """
    same_length(len(queries), len(passages))
    same_length(len(queries), len(labels))
    if epochs < 1 or batch_size < 1 or not learning_rate > 0:
        raise InputError("epochs and batch_size must be at least 1, and learning_rate above 0.")
    if labels.all() or not labels.any():
        raise InputError(f"{counted(len(labels), 'pair')} of one kind only: a cross-encoder needs both to learn from.")
    chosen = draw_pairs(labels, max_pairs, np.random.default_rng(seed))
    with reproducible(seed):
        tokenizer, model = _load(_base_folder(base))
        tokens = _Tokens(tokenizer, [queries[i] for i in chosen], [passages[i] for i in chosen], max_tokens)
        plan = plan_batches(tokens.lengths, batch_size, epochs, np.random.default_rng(seed))
        rates = {learning_rate: model.parameters()}
        truth = neural("torch").from_numpy(labels[chosen].astype(np.float32))
        losses = descend(model, partial(_loss, model, tokens, truth), plan, rates, progress=progress)
    means = mean_losses(losses, epochs)
    shown = base if base == MINILM else Path(base).name
    lesson = FineTuning(
        shown, seed, epochs, batch_size, learning_rate, max_tokens, len(chosen), int(labels[chosen].sum()), means
    )
    return CrossEncoder(tokenizer, model, lesson)


def draw_pairs(labels: Bools, most: int | None, rng: np.random.Generator) -> list[int]:
    """Which pairs to learn from: all, or ``most`` of them, with the positives first as long as they are at most half.

    >>> draw_pairs(np.array([True, False, False, False]), 2, np.random.default_rng(0))[0]
    0
    """
    if most is None or len(labels) <= most:
        return list(range(len(labels)))
    positives, negatives = np.flatnonzero(labels), np.flatnonzero(~labels)
    wanted = min(len(positives), max(most // 2, most - len(negatives)))
    drawn = [rng.choice(positives, wanted, replace=False), rng.choice(negatives, most - wanted, replace=False)]
    places: list[int] = np.sort(np.concatenate(drawn)).tolist()
    return places


class _Tokens:
    """Pairs as lists of tokens, and batches of them as tensors."""

    def __init__(self, tokenizer: Any, queries: Sequence[str], passages: Sequence[str], most: int) -> None:
        pairs = [list(map(plain_text, texts)) for texts in (queries, passages)]
        self._made = tokenizer(*pairs, truncation=True, max_length=most, padding=False)
        self._fillers = {"input_ids": tokenizer.pad_token_id or 0}
        self.lengths: list[int] = [len(ids) for ids in self._made["input_ids"]]

    def batch(self, places: list[int]) -> Mapping[str, Any]:
        """The pairs at these places, padded to one length."""
        torch = neural("torch")
        return {
            name: torch.from_numpy(padded([rows[place] for place in places], self._fillers.get(name, 0))[0])
            for name, rows in self._made.items()
        }


def _loss(model: Any, tokens: _Tokens, truth: Any, batch: list[int]) -> Any:
    logits = model(**tokens.batch(batch)).logits[:, 0]
    return neural("torch").nn.functional.binary_cross_entropy_with_logits(logits, truth[batch])


def _base_folder(base: str) -> Path:
    if base == MINILM:
        return minilm_folder()
    folder = Path(base).expanduser()
    if not folder.is_dir():
        raise InputError(f"There is no folder {typed(base)}. Give minilm or the folder of a model.")
    return folder


def _load(folder: Path) -> tuple[Any, Any]:
    """The tokenizer and the model with one output; a head that is not there is drawn at random."""
    transformers, torch = neural("transformers"), neural("torch")
    own = {"local_files_only": True, "trust_remote_code": False}

    def load() -> tuple[Any, Any]:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **own)
        kind = transformers.AutoModelForSequenceClassification
        return tokenizer, kind.from_pretrained(folder, num_labels=1, dtype=torch.float32, use_safetensors=True, **own)

    with quiet():
        return loaded(WeightSource(str(folder), None, {}), load)


def _weights_hash(model: Any) -> str:
    """A hash of all weights by name."""
    digest = sha256()
    for name, value in sorted(model.state_dict().items()):
        digest.update(name.encode() + b"\0" + np.ascontiguousarray(value.detach().numpy()).tobytes())
    return digest.hexdigest()
