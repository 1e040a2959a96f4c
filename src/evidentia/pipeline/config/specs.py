"""Kinds of values with a grammar of their own: models, rules for thresholds, and the names of variables that hold keys."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from evidentia.errors import InputError
from evidentia.pipeline.addresses import address_of, key_in, may_be_shown
from evidentia.pipeline.config.fields import (
    CHOICE,
    LONGEST,
    RANGE,
    TYPE,
    Kind,
    RefusedError,
    described,
    listed,
    suggestion,
)
from evidentia.protocol.thresholds import parse_rule

HIDDEN = "what is there, which is not shown"


@dataclass(frozen=True)
class Spec(Kind):
    """A word, or a model in the form NAME:WHICH."""

    plain: tuple[str, ...]
    forms: tuple[str, ...]

    @property
    def words(self) -> str:
        """What is taken, in words."""
        return listed((*self.plain, *self.forms))

    def read(self, value: object) -> str:
        """The spec without white space around it."""
        if not isinstance(value, str):
            raise self.refused(TYPE, value)
        spec = value.strip()
        if spec in self.plain:
            return spec
        name, _, which = spec.partition(":")
        names = [form.partition(":")[0] for form in self.forms]
        if name not in names or not which or not spec.isprintable() or len(spec) > LONGEST:
            actual = described(value) if may_be_shown(spec) else HIDDEN
            raise RefusedError(CHOICE, self.words, actual, suggestion(name, (*self.plain, *names)))
        if name in {"openai", "http"}:
            self._check_server(self.forms[names.index(name)], which)
        return spec

    def _check_server(self, form: str, which: str) -> None:
        url, _, model = which.partition(",")
        actual = described(which) if may_be_shown(which) else HIDDEN
        if not model and (form.endswith(",MODEL") or which.endswith(",")):
            raise RefusedError(RANGE, listed((form,)), actual, "It names no model.")
        parts = address_of(url)
        if parts is None:
            hint = "Its address must be one like http://127.0.0.1:8000/v1."
            raise RefusedError(RANGE, listed((form,)), actual, hint)
        if (secret := key_in(parts)) is not None:
            hint = f"The address must not hold {secret}: set api_key_env."
            raise RefusedError(RANGE, listed((form,)), HIDDEN, hint)


@dataclass(frozen=True)
class RuleText(Kind):
    """A rule that chooses a threshold."""

    @property
    def words(self) -> str:
        """What is taken, in words."""
        return '"max-f1", "max-mcc", "youden", "fpr=0.05" (or another number) or "fixed=0.5"'

    def read(self, value: object) -> str:
        """The rule, its number written in one way."""
        if not isinstance(value, str):
            raise self.refused(TYPE, value)
        if len(value) > LONGEST:
            raise self.refused(CHOICE, value)
        try:
            rule = parse_rule(value)
        except InputError:
            raise self.refused(CHOICE, value) from None
        return rule.name if rule.target is None else f"{rule.name}={np.format_float_positional(rule.target, trim='-')}"


@dataclass(frozen=True)
class Variable(Kind):
    """The name of an environment variable. What is there instead is never shown: it may be the key itself."""

    @property
    def words(self) -> str:
        """What is taken, in words."""
        return "the name of an environment variable (capital letters, digits and _)"

    def read(self, value: object) -> str:
        """The name as it is."""
        if not isinstance(value, str):
            raise RefusedError(TYPE, self.words, HIDDEN)
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,99}", value):
            raise RefusedError(RANGE, self.words, HIDDEN, "The key itself must not be in this file.")
        return value
