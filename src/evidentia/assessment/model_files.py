"""A learned model as files: a JSON document and plain arrays, no pickle."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from evidentia.array_types import Floats
from evidentia.assessment.instrument import Instrument, Item
from evidentia.assessment.learned import LearnedModel, LearnedSettings, TextView, minilm_vectors
from evidentia.assessment.ordinal import OrdinalModel
from evidentia.errors import InputError
from evidentia.results.folder import replace_files
from evidentia.results.strict_json import dumps, loads

SCHEMA = "evidentia.assess-model/1"
DOCUMENT, ARRAYS = "model.json", "arrays.safetensors"


def save_model(model: LearnedModel, folder: Path) -> None:
    """Write a model into a folder; only its owner may read it, since it was learnt from people's words."""
    from safetensors.numpy import save

    arrays = {"center": model.center, "scale": model.scale}
    for view in model.views:
        arrays |= {f"{view.name}.{part}": getattr(view, part) for part in ("idf", "weights", "intercept")}
    for place, ordinal in enumerate(model.ordinal):
        arrays |= {f"item{place}.cuts": ordinal.cuts, f"item{place}.weights": ordinal.weights}
    packed = save({name: np.ascontiguousarray(values, np.float64) for name, values in arrays.items()})
    document = {
        "schema": SCHEMA,
        "notice": "Learnt from people's texts: it holds words that several of them used.",
        "instrument": asdict(model.instrument),
        "settings": asdict(model.settings),
        "most_loss": None if np.isinf(model.most_loss) else model.most_loss,
        "participants": model.participants,
        "with_llm": model.with_llm,
        "views": {view.name: list(view.terms) for view in model.views},
        "arrays_sha256": hashlib.sha256(packed).hexdigest(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    replace_files(folder, {DOCUMENT: dumps(document).encode(), ARRAYS: packed}, mode=0o600)


def load_model(folder: Path) -> LearnedModel:
    """Read a model folder; damage is an input error."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        document = loads((folder / DOCUMENT).read_bytes())
        packed = (folder / ARRAYS).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{folder.name}: not a model of `evidentia assess fit` ({type(error).__name__}).") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"{folder.name}: not a model of `evidentia assess fit`, or of another version.")
    if hashlib.sha256(packed).hexdigest() != document.get("arrays_sha256"):
        raise InputError(f"{folder.name}: {ARRAYS} is not the file that was written with {DOCUMENT}. Fit it again.")
    try:
        return _model(document, load(packed))
    except (SafetensorError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{folder.name}: the model is damaged ({type(error).__name__}). Fit it again.") from None


def _model(document: dict[str, Any], arrays: dict[str, Floats]) -> LearnedModel:
    instrument = _instrument(document["instrument"])
    settings = LearnedSettings(**document["settings"])
    views = tuple(
        TextView(name, tuple(terms), arrays[f"{name}.idf"], arrays[f"{name}.weights"], arrays[f"{name}.intercept"])
        for name, terms in document["views"].items()
    )
    places = range(len(instrument.items))
    return LearnedModel(
        instrument=instrument,
        settings=settings,
        views=views,
        center=arrays["center"],
        scale=arrays["scale"],
        ordinal=tuple(OrdinalModel(arrays[f"item{place}.cuts"], arrays[f"item{place}.weights"]) for place in places),
        most_loss=float("inf") if document["most_loss"] is None else float(document["most_loss"]),
        participants=int(document["participants"]),
        with_llm=bool(document["with_llm"]),
        vectors=minilm_vectors() if settings.vectors else None,
    )


def _instrument(content: dict[str, Any]) -> Instrument:
    items = tuple(Item(**{key: _frozen(value) for key, value in item.items()}) for item in content["items"])
    own = {f.name for f in fields(Instrument)} - {"items"}
    return Instrument(items=items, **{key: _frozen(value) for key, value in content.items() if key in own})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def llm_expectations(path: Path, mode: str | None, instrument: Instrument) -> dict[str, list[float]]:
    """The expectation of an LLM for every item, from the signals of its run; the middle of the range where it has none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        experiments = document["experiments"]
        chosen = [e for e in experiments if mode is None or e["results"]["mode"] == mode]
        results = chosen[0]["results"]["results"]
    except (OSError, ValueError, LookupError, TypeError):
        raise InputError(f"{path.name}: not a run of `evidentia assess run` with that mode.") from None
    expectations: dict[str, list[float]] = {}
    for result in results:
        signals = result.get("item_signals", {}) if result.get("success") else {}
        expectations[str(result["participant_id"])] = [
            _expectation(signals.get(item.id, {}), (item.low + item.high) / 2) for item in instrument.items
        ]
    return expectations


def _expectation(signals: dict[str, Any], middle: float) -> float:
    value = signals.get("expectation")
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else middle
