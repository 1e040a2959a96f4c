"""An OpenAI-compatible chat endpoint: completions with token probabilities, counted against a budget."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from evidentia.assessment.answers import ScorerError
from evidentia.pipeline.encoders.wire import ServerSettings, ask, checked_url

Message = Mapping[str, str]
CHARACTERS_PER_TOKEN = 3.5  # for estimates; English is nearer to four


@dataclass(frozen=True)
class Completion:
    """What was answered, why it ended, and the probabilities of the first token's alternatives."""

    text: str
    finished: bool
    first_token: Mapping[str, float]


class ChatEndpoint:
    """Asks one model; tokens and calls are counted over all threads, and a budget ends the asking."""

    def __init__(
        self, base_url: str, model: str, settings: ServerSettings | None = None, *, most_tokens: int | None = None
    ) -> None:
        self.settings = settings or ServerSettings()
        parts = urlsplit(checked_url(base_url, self.settings.api_key_env))
        self.url = urlunsplit(parts._replace(path=parts.path.rstrip("/") + "/chat/completions"))
        self.model, self.most_tokens = model, most_tokens
        self.calls = self.prompt_tokens = self.completion_tokens = 0
        self._lock = Lock()

    def usage(self) -> dict[str, int]:
        """Calls and tokens so far."""
        return {
            "calls": self.calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }

    def complete(
        self,
        messages: Sequence[Message],
        *,
        most_tokens: int,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
        seed: int = 7,
        probabilities: bool = False,
    ) -> Completion:
        """One answer. A schema asks for JSON of that form; servers that know no schemas may answer otherwise."""
        if self.most_tokens is not None and self.prompt_tokens + self.completion_tokens >= self.most_tokens:
            raise ScorerError("token budget")
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [dict(message) for message in messages],
            "max_tokens": most_tokens,
            "temperature": temperature,
            "seed": seed,
        }
        if schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)},
            }
        if probabilities:
            body |= {"logprobs": True, "top_logprobs": 20}
        answer = ask(self.url, body, self.settings)
        self._count(answer)
        return _completion(answer)

    def _count(self, answer: Any) -> None:
        usage = answer.get("usage") if isinstance(answer, Mapping) else None
        counts = usage if isinstance(usage, Mapping) else {}
        with self._lock:
            self.calls += 1
            for name in ("prompt_tokens", "completion_tokens"):
                count = counts.get(name)
                if isinstance(count, int) and not isinstance(count, bool) and count > 0:
                    setattr(self, name, getattr(self, name) + count)


def _completion(answer: Any) -> Completion:
    try:
        choice = answer["choices"][0]
        text = choice["message"]["content"]
        finished = choice.get("finish_reason") != "length"
    except (LookupError, TypeError, AttributeError):
        raise ScorerError("malformed answer") from None
    if not isinstance(text, str):
        raise ScorerError("malformed answer")
    return Completion(text, finished, _first_token(choice))


def _first_token(choice: Mapping[str, Any]) -> dict[str, float]:
    """Probabilities of the alternatives of the first token that is not blank; empty where the server gives none."""
    try:
        for token in choice["logprobs"]["content"]:
            if token["token"].strip():
                listed = token["top_logprobs"] or [token]
                return _summed((str(entry["token"]).strip(), float(entry["logprob"])) for entry in listed)
    except (LookupError, TypeError, AttributeError, ValueError):
        pass
    return {}


def _summed(pairs: Any) -> dict[str, float]:
    chances: dict[str, float] = {}
    for token, logprob in pairs:
        if math.isfinite(logprob):
            chances[token] = chances.get(token, 0.0) + math.exp(min(logprob, 0.0))
    return chances


def read_json(text: str) -> Any:
    """The JSON of an answer; where it stands among other words or in a code block, the first object in it.

    >>> read_json('Here you are: {"a": [1]} and more')
    {'a': [1]}
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    decoder = json.JSONDecoder()
    for start in (place for place, letter in enumerate(text) if letter == "{"):
        try:
            return decoder.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
    raise ScorerError("malformed JSON")


def estimated_tokens(characters: int) -> int:
    """About how many tokens so many characters are."""
    return math.ceil(characters / CHARACTERS_PER_TOKEN)
