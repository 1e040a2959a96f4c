"""What a model folder may do here: a folder may come from anybody, so where texts and keys go is for its user to say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from urllib.parse import SplitResult

from evidentia.errors import InputError
from evidentia.pipeline.addresses import address_of, covers, key_in, shown_address
from evidentia.pipeline.config import Config

SERVERS = ("openai", "http")


@dataclass(frozen=True)
class Permission:
    """The servers that may be sent texts, the variables whose keys may be sent along, and whether models may run own code."""

    endpoints: tuple[SplitResult, ...] = ()
    keys: frozenset[str] = frozenset()
    remote_code: bool = False

    @classmethod
    def of(
        cls,
        endpoints: Iterable[str] = (),
        keys: Iterable[str] = (),
        *,
        remote_code: bool = False,
        config: Config | None = None,
    ) -> Permission:
        """What was confirmed one by one, and all that the user's own configuration names."""
        allowed, names = [_address(url) for url in endpoints], set(keys)
        if config is not None:
            allowed += [_address(url) for url in addresses_in(config)]
            names |= keys_in(config)
            remote_code = remote_code or runs_code(config)
        return cls(tuple(allowed), frozenset(names), remote_code)

    def applied(self, config: Config, name: str) -> tuple[Config, tuple[str, ...]]:
        """The configuration of a model folder without the keys that were not allowed, and what to tell of it.

        A server or code that was not confirmed is an InputError.
        """
        asked = {url: _address(url) for url in addresses_in(config)}
        unknown = [url for url, at in asked.items() if not any(covers(allowed, at) for allowed in self.endpoints)]
        problems = [_unconfirmed(name, url) for url in unknown]
        if runs_code(config) and not self.remote_code:
            problems.append(
                f"{name} asks for trust_remote_code: a model of it would run code of its own. Read that code, then confirm "
                "with --trust-remote-code (in Python trust_remote_code=True)."
            )
        if problems:
            raise InputError(*problems)
        return _without(config, withheld := sorted(keys_in(config) - self.keys)), tuple(
            f"{name} asks for the key in the environment variable {key}, which is not sent. If it is meant for that server, "
            f"confirm with --allow-key {key} (in Python allow_keys=[{key!r}])."
            for key in withheld
        )


def addresses_in(config: Config) -> Iterator[str]:
    """The addresses of all servers that a configuration names."""
    specs = (*config.retriever.kind, config.reranker.kind, config.reranker.vectors, config.graph.space)
    for spec in dict.fromkeys(specs):
        form, _, which = spec.partition(":")
        if form in SERVERS:
            yield which.partition(",")[0]


def keys_in(config: Config) -> set[str]:
    """The environment variables that a configuration takes keys from."""
    models = (config.retriever.model, config.reranker.model_settings)
    return {model.api_key_env for model in models if model.api_key_env is not None}


def runs_code(config: Config) -> bool:
    """Whether a configuration trusts the code that comes with a model."""
    return config.retriever.model.trust_remote_code or config.reranker.model_settings.trust_remote_code


def _without(config: Config, keys: Sequence[str | None]) -> Config:
    first, second = (
        replace(model, api_key_env=None) if model.api_key_env in keys else model
        for model in (config.retriever.model, config.reranker.model_settings)
    )
    retriever, reranker = replace(config.retriever, model=first), replace(config.reranker, model_settings=second)
    return replace(config, retriever=retriever, reranker=reranker)


def _address(url: str) -> SplitResult:
    parts = address_of(url)
    if parts is None or key_in(parts) is not None:
        raise InputError(
            f"{shown_address(url)} is no address that may be allowed. Give one like http://127.0.0.1:8000/v1, without a key."
        )
    return parts


def _unconfirmed(name: str, url: str) -> str:
    return (
        f"{name} would send the texts of posts to {url}. A model folder may come from anybody and does not decide that: "
        f"confirm with --allow-endpoint {url} (in Python allow_endpoints=[{url!r}]), or give your own configuration."
    )
