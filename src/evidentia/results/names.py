"""The grammar of measure names: ``Name(param=value,...)@cut[group=value]``, parsed and printed back canonically."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from evidentia.errors import UnknownNameError, typed

_NAME = re.compile(
    r"\s*(?P<base>[A-Za-z][A-Za-z0-9]*)"
    r"(?:\((?P<params>[^()@\[\]]*)\))?"
    r"(?:@(?P<cut>[^\[\]()]+))?"
    r"(?:\[(?P<group>.*)\])?\s*",
    re.DOTALL,
)
_GROUP = re.compile(
    r'\s*(?P<column>"(?:[^"\\]|\\.)*"|[^=\[\]",]+?)\s*=\s*(?P<value>"(?:[^"\\]|\\.)*"|[^",]*?)\s*(?:,|$)', re.DOTALL
)
_PLAIN_VALUE = re.compile(r'[^",\[\]\s](?:[^",\[\]]*[^",\[\]\s])?')
_RANK = re.compile(r"[1-9]\d{0,5}", re.ASCII)
COMMON = "common"  # the smaller coverage of two systems
CUT_KINDS = ("FPR", "t", "coverage", "C", "cut")
_TOTAL = re.compile(r"[+-]?\d{1,6}", re.ASCII)


@dataclass(frozen=True)
class Cut:
    """Where a measure is cut: a rank (``k``, None meaning ALL), a budget (``FPR``), a threshold (``t``), a coverage or a total.

    A coverage without a value is the one that two systems have in common.
    """

    kind: str
    value: Decimal | None

    def __str__(self) -> str:
        if self.kind == "k":
            return "ALL" if self.value is None else str(int(self.value))
        if self.value is None:
            return f"{self.kind}={COMMON}"
        if self.kind == "FPR":
            return f"FPR={_plain(self.value * 100)}%"
        return f"{self.kind}={_plain(self.value)}"


@dataclass(frozen=True)
class Name:
    """A measure's name as written: base, parameters in the order given, cut and group."""

    base: str
    params: tuple[tuple[str, str], ...] = ()
    cut: Cut | None = None
    group: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        params = ",".join(value if not key else f"{key}={value}" for key, value in self.params)
        text = self.base + (f"({params})" if params else "") + (f"@{self.cut}" if self.cut else "")
        return text + group_suffix(self.group)

    def ungrouped(self) -> Name:
        """The same name without its group."""
        return replace(self, group=())


def group_suffix(group: tuple[tuple[str, str], ...]) -> str:
    """Print a group; values that would not parse back plainly are quoted as JSON strings.

    >>> group_suffix((("criterion", "A.1"),)), group_suffix((("site", "a,b"),))
    ('[criterion=A.1]', '[site="a,b"]')
    """
    if not group:
        return ""
    return "[" + ",".join(f"{_quoted(column, '=')}={_quoted(value)}" for column, value in group) + "]"


@lru_cache(maxsize=1 << 14)  # a verification reads every name dozens of times
def parse_name(text: str) -> Name:
    """Read a name; a bare word among the parameters (``tuned``) is a parameter with an empty key.

    Parameters
    ----------
    text : str
        A name as ``Base(param=value,...)@cut[column=value]``.

    Returns
    -------
    Name
        Base, parameters, cut and group; whether the measure exists is not checked.

    Raises
    ------
    UnknownNameError
        If it is not a name.

    Examples
    --------
    >>> str(parse_name("TPR( tuned )@FPR=0.05"))
    'TPR(tuned)@FPR=5%'
    >>> str(parse_name("nDCG@10[criterion=A.1]"))
    'nDCG@10[criterion=A.1]'
    """
    match = _NAME.fullmatch(text)
    if match is None:
        raise UnknownNameError(
            f"{typed(text)} is not a measure name. Names look like nDCG@10, F1(t=gate), TPR@FPR=5% or AUROC[fold=3]."
        )
    params = tuple(_param(part, text) for part in (match["params"] or "").split(",") if part.strip())
    keys = [key for key, _ in params if key]
    if len(keys) != len(set(keys)):
        raise UnknownNameError(f"{typed(text)} gives a parameter twice. Give each parameter once.")
    cut = None if match["cut"] is None else parse_cut(match["cut"], text)
    group = () if match["group"] is None else _parse_group(match["group"], text)
    return Name(match["base"], params, cut, group)


def parse_cut(text: str, whole: str) -> Cut:
    """Read what follows the @: a rank, ALL, or kind=value with an optional percent sign."""
    text = text.strip()
    kind, equals, value = text.partition("=")
    if not equals:
        if text.upper() == "ALL":
            return Cut("k", None)
        if _RANK.fullmatch(text):
            return Cut("k", Decimal(text))
        raise UnknownNameError(
            f"{typed(whole)}: the cut after @ must be a whole number from 1 to 999,999, ALL, or like FPR=5%."
        )
    by_lower = {known.lower(): known for known in CUT_KINDS}
    kind = by_lower.get(kind.strip().lower(), "")
    if not kind:
        raise UnknownNameError(
            f"{typed(whole)}: unknown cut. Known are @10, @ALL, @FPR=5%, @t=0.2, @coverage=0.5, @C=0.5, @cut=10."
        )
    if kind == "C" and value.strip().lower() == COMMON:
        return Cut(kind, None)
    if kind == "cut":
        return Cut(kind, _total(value.strip(), whole))
    share = _share(value.strip(), whole)
    if share == 0 and kind in {"coverage", "C"}:
        raise UnknownNameError(f"{typed(whole)}: a coverage must be more than 0.")
    return Cut(kind, share)


def _total(text: str, whole: str) -> Decimal:
    if not _TOTAL.fullmatch(text):
        raise UnknownNameError(f"{typed(whole)}: a cut-off of the total is a whole number, as in @cut=10.")
    return Decimal(int(text))


def _share(text: str, whole: str) -> Decimal:
    percent = text.endswith("%")
    try:
        value = Decimal(text.rstrip("%").strip())
    except InvalidOperation:
        value = Decimal(-1)
    value = value / 100 if percent else value
    if not value.is_finite() or not 0 <= value <= 1:
        raise UnknownNameError(f"{typed(whole)}: the value of the cut must lie between 0 and 1 (or 0% and 100%).")
    return abs(value)  # no minus before a zero


def _param(part: str, whole: str) -> tuple[str, str]:
    key, equals, value = (piece.strip() for piece in part.partition("="))
    if not equals:
        return ("", key)
    if not key or not value:
        raise UnknownNameError(f"{typed(whole)}: a parameter is written name=value.")
    return (key, value)


def _parse_group(text: str, whole: str) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _GROUP.match(text, at)
        if match is None:
            raise UnknownNameError(f"{typed(whole)}: a group is written [column=value].")
        try:
            pairs.append((_unquoted(match["column"]), _unquoted(match["value"])))
        except ValueError:
            raise UnknownNameError(f"{typed(whole)}: a quoted name in a group is written as in JSON.") from None
        at = match.end()
    return tuple(pairs)


def _quoted(text: str, forbidden: str = "") -> str:
    plain = _PLAIN_VALUE.fullmatch(text) and not any(letter in text for letter in forbidden)
    return text if plain else json.dumps(text, ensure_ascii=False)


def _unquoted(text: str) -> str:
    return str(json.loads(text)) if text.startswith('"') else text


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
