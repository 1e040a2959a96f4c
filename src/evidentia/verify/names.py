"""The names of numbers, read and written by code of its own: ``Name(parameter=value,...)@cut[group=value]``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Name:
    """A name as it is written; a parameter without a key (``tuned``) has an empty one."""

    base: str
    params: Pairs = ()
    cut: str | None = None
    group: Pairs = ()


def parse(text: str) -> Name:
    """Read a name; ValueError if it is none.

    >>> parse('Precision(tuned)@FPR=0.050[site="a,b"]')
    Name(base='Precision', params=(('', 'tuned'),), cut='FPR=5%', group=(('site', 'a,b'),))
    """
    head, bracket, group = text.partition("[")
    if bracket and not group.endswith("]"):
        raise ValueError(f"{text!r} does not end its group")
    head, at, cut = head.partition("@")
    base, opened, params = head.strip().partition("(")
    if opened and not params.endswith(")"):
        raise ValueError(f"{text!r} does not end its parameters")
    pairs = tuple(_param(part) for part in params.removesuffix(")").split(",") if part.strip())
    return Name(base.strip(), pairs, plain_cut(cut.strip()) if at else None, _group(group[:-1]) if bracket else ())


def kind_of(cut: str | None) -> str:
    """What a cut is about: ``k`` for ranks, else what stands before its equals sign; empty without a cut.

    >>> kind_of("10"), kind_of("ALL"), kind_of("FPR=5%"), kind_of(None)
    ('k', 'k', 'FPR', '')
    """
    if cut is None:
        return ""
    return cut.partition("=")[0] if "=" in cut else "k"


def level_of(cut: str) -> Decimal:
    """The budget or threshold of a cut as an exact decimal.

    >>> level_of("FPR=5%"), level_of("t=0.2")
    (Decimal('0.05'), Decimal('0.2'))
    """
    value = cut.partition("=")[2]
    return Decimal(value[:-1]) / 100 if value.endswith("%") else Decimal(value)


def plain_cut(cut: str) -> str:
    """The one way to write a cut: budgets in percent, shortest decimals."""
    if "=" not in cut:
        return cut.upper()
    kind = {"fpr": "FPR", "t": "t"}.get(cut.partition("=")[0].strip().lower(), cut.partition("=")[0].strip())
    level = level_of(cut.replace(" ", ""))
    return f"FPR={shortest(level * 100)}%" if kind == "FPR" else f"{kind}={shortest(level)}"


def shortest(number: Decimal) -> str:
    """A decimal without zeros that say nothing.

    >>> shortest(Decimal("0.50")), shortest(Decimal("10"))
    ('0.5', '10')
    """
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def suffix(group: Pairs) -> str:
    """A group in brackets; what would not be read back plainly is quoted as in JSON.

    >>> suffix((("fold", "3"),)), suffix((("criterion", ""),))
    ('[fold=3]', '[criterion=""]')
    """
    if not group:
        return ""
    return "[" + ",".join(f"{_quoted(column, '=')}={_quoted(value, '')}" for column, value in group) + "]"


def _quoted(text: str, also: str) -> str:
    special = not text or text != text.strip() or any(letter in '",[]' + also for letter in text)
    return json.dumps(text, ensure_ascii=False) if special else text


def _param(part: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    return (key.strip(), value.strip()) if equals else ("", key.strip())


def _group(text: str) -> Pairs:
    pairs: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        column, at = _word(text, at, "=")
        value, at = _word(text, at, ",")
        pairs.append((column, value))
    return tuple(pairs)


def _word(text: str, at: int, stop: str) -> tuple[str, int]:
    """A plain or a quoted word up to a stop sign, and where the next one begins."""
    while at < len(text) and text[at] == " ":
        at += 1
    if text[at : at + 1] == '"':
        word, end = json.JSONDecoder().raw_decode(text, at)
        rest = text[end:].lstrip(" ")
        if rest and not rest.startswith(stop):
            raise ValueError(f"{text!r} is not a group")
        return str(word), len(text) - len(rest) + 1
    end = text.find(stop, at)
    if end < 0 and stop == "=":
        raise ValueError(f"{text!r} is not a group")
    end = len(text) if end < 0 else end
    return text[at:end].strip(), end + 1
