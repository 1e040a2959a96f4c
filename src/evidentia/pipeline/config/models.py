"""What can be set about a model, the same for all, and which of it concerns which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Annotated, Any, get_type_hints

from evidentia.pipeline.config.fields import Number, Setting, Text, Whole, YesNo
from evidentia.pipeline.config.specs import Variable

_APPLIES = {
    "sentence-transformers": ("query_prompt", "passage_prompt", "max_seq_length", "batch_size", "trust_remote_code"),
    "openai": ("query_prompt", "passage_prompt", "batch_size", "api_key_env", "timeout", "retries"),
    "cross-encoder": ("max_seq_length", "batch_size", "trust_remote_code"),
    "http": ("batch_size", "api_key_env", "timeout", "retries"),
}


def settings_of(table: type) -> Iterator[tuple[str, Setting]]:
    """The keys of a table in their order."""
    hints = get_type_hints(table, include_extras=True)
    for field in fields(table):
        settings = [extra for extra in getattr(hints[field.name], "__metadata__", ()) if isinstance(extra, Setting)]
        yield from ((field.name, setting) for setting in settings)


def applying(spec: str) -> tuple[str, ...]:
    """The settings that a model takes.

    >>> applying("cross-encoder:some/model")
    ('max_seq_length', 'batch_size', 'trust_remote_code')
    """
    return _APPLIES.get(spec.partition(":")[0], ())


@dataclass(frozen=True)
class ModelConfig:
    """What can be set about a model; what is left out is as the model has it."""

    query_prompt: Annotated[
        str | None, Setting(Text("a text", free=True), "Stands before criteria", example="query: ")
    ] = None
    passage_prompt: Annotated[
        str | None, Setting(Text("a text", free=True), "Stands before sentences", example="passage: ")
    ] = None
    max_seq_length: Annotated[
        int | None, Setting(Whole(1, 1_000_000), "Tokens behind which a text is cut", example=256)
    ] = None
    batch_size: Annotated[int | None, Setting(Whole(1, 100_000), "Texts at a time", decides=False, example=32)] = None
    trust_remote_code: Annotated[bool, Setting(YesNo(), "Run code that comes with the model")] = False
    api_key_env: Annotated[
        str | None, Setting(Variable(), "The variable that holds the key of the server", False, "EMBEDDINGS_KEY")
    ] = None
    timeout: Annotated[
        float | None, Setting(Number(0, 86_400, above=True), "Seconds to wait for the server", False, 120.0)
    ] = None
    retries: Annotated[int | None, Setting(Whole(0, 100), "Times that a failed request is sent again", False, 5)] = None

    def given(self, spec: str) -> dict[str, Any]:
        """What is set and concerns this model, as the model takes it."""
        every = {name: getattr(self, name) for name in applying(spec)}
        return {name: value for name, value in every.items() if value is not None}

    def changed(self) -> tuple[str, ...]:
        """The names of what is not left as it was."""
        return tuple(name for name, _ in settings_of(ModelConfig) if getattr(self, name) != getattr(ModelConfig, name))
