"""The catalogue of registered measures: from a name, or what people call it elsewhere, to one definition, and back."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from evidentia.errors import UnknownNameError, typed
from evidentia.results.measure import Args, Measure, Parameter, Population
from evidentia.results.names import Name, parse_name
from evidentia.results.profiles import Profile

MEASURES: list[Measure] = []  # in the order in which they were registered
_BASES: dict[str, str] = {}
_CUT_ALIASES = {
    "ndcg_cut": "nDCG@{}",
    "map_cut": "MAP(norm=gold)@{}",
    "success": "HitRate@{}",
    "p": "Precision(depth=k)@{}",
    "recall": "Recall@{}",
    "hit": "HitRate@{}",
    "hits": "HitRate@{}",
    "hit_rate": "HitRate@{}",
    "ap": "MAP@{}",
    "map": "MAP@{}",
    "ndcg": "nDCG@{}",
    "mrr": "MRR@{}",
    "rr": "MRR@{}",
    "precision": "Precision@{}",
    "r": "Recall@{}",
}
_WORD_ALIASES = {
    "map": "MAP(norm=gold)@ALL",
    "ndcg": "nDCG@ALL",
    "recip_rank": "MRR",
    "rr": "MRR",
    "roc_auc": "AUROC",
    "roc_auc_score": "AUROC",
    "auc": "AUROC",
    "f1_score": "F1(t=gate)",
    "f1-score": "F1(t=gate)",
    "balanced_accuracy_score": "BalancedAccuracy(t=gate)",
    "average_precision": "AUPRC",
    "average_precision_score": "AUPRC",
    "brier_score": "Brier",
    "brier_score_loss": "Brier",
    "log_loss": "LogLoss",
    "matthews_corrcoef": "MCC(t=gate)",
    "hamming_loss": "HammingLoss",
    "exact_match": "ExactMatch",
    "avg_k": "SelectedK",
    "evidence_recall": "EvidenceRecall",
    "evidence_precision": "EvidencePrecision",
    "alert_precision": "AlertPrecision",
    "screening_sensitivity": "ScreeningSensitivity",
}
_ALIAS = re.compile(r"(?P<word>[A-Za-z_]+?)[_@](?P<cut>\d+|all)(?P<group>\[.*\])?", re.IGNORECASE | re.DOTALL)


def register(measures: Iterable[Measure]) -> None:
    """Add measures to the catalogue; base name, cut and required parameters tell them apart.

    Parameters
    ----------
    measures : iterable of Measure
        The measures.

    Raises
    ------
    ValueError
        If one of them exists.

    Examples
    --------
    >>> from evidentia.measures import MEASURES
    >>> register(MEASURES[:1])
    Traceback (most recent call last):
    ValueError: Queries is a measure already (upper and lower case are the same). Choose another name.
    """
    for measure in measures:
        base = _BASES.get(measure.base.lower(), measure.base)
        if base != measure.base or measure.key in {known.key for known in MEASURES}:
            raise ValueError(
                f"{measure.base} is a measure already (upper and lower case are the same). Choose another name."
            )
        MEASURES.append(measure)
        _BASES.setdefault(measure.base.lower(), measure.base)


def is_measure(base: str) -> bool:
    """Whether a registered measure has this base name."""
    return _BASES.get(base.lower()) == base


@dataclass(frozen=True, eq=False)
class Definition:
    """One measure with all its choices made. Equal definitions compute the same thing, whatever they were called."""

    measure: Measure
    args: Args

    @cached_property
    def expanded(self) -> str:
        """The name with every choice written out; comparisons match on this, never on the short name."""
        return str(self._name(tuple(self.measure.params)))

    def name(self, profile: Profile) -> str:
        """The name under a profile: choices that the profile would make anyway are left out."""
        moot = self.measure.without_effect(self.args.params)
        shown_params = (p for p in self.measure.params if p.name not in moot and not self._usual(p, profile))
        return str(self._name(tuple(shown_params)))

    @cached_property
    def kind(self) -> Any:
        """What computes it."""
        return self.measure.kind_of(self.args)

    @property
    def population(self) -> Population:
        """Which units it speaks about."""
        return self.measure.population(self.args)

    def with_params(self, **changes: str | None) -> Definition:
        """The definition of the same base name with other choices."""
        name = self._name(tuple(self.measure.params))
        kept = tuple((key, value) for key, value in self.args.params.items() if key not in changes)
        changed = tuple((key, value) for key, value in changes.items() if value is not None)
        return _match(Name(name.base, (*kept, *changed), name.cut), profile=None, text=str(name))

    def _usual(self, parameter: Parameter, profile: Profile) -> bool:
        return self.args[parameter.name] == _default(self.measure, parameter, profile)

    def _name(self, shown_params: tuple[Parameter, ...]) -> Name:
        params = tuple(("" if p.bare else p.name, self.args[p.name]) for p in shown_params)
        return Name(self.measure.base, params, self.args.cut)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Definition) and self.expanded == other.expanded

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.expanded)


@dataclass(frozen=True)
class Request:
    """A definition, and the group for which it was asked, if any."""

    definition: Definition
    group: tuple[tuple[str, str], ...] = ()


def resolve(text: str, profile: Profile) -> Request:
    """Find the definition that a name means under a profile; common names of other tools are understood.

    Parameters
    ----------
    text : str
        Name of a measure, with its group if any.
    profile : Profile
        Profile that fills in the parameters that the name leaves out.

    Returns
    -------
    Request
        The definition, and the group.

    Raises
    ------
    UnknownNameError
        If the name has no meaning; the message lists near names or the ways to write it.

    Examples
    --------
    >>> from evidentia.measures import PROFILES  # which fills the catalogue
    >>> resolve("map@10", PROFILES["audit"]).definition.expanded
    'MAP(norm=min,pop=positives,avg=pooled)@10'
    >>> resolve("ndcg_cut_10", PROFILES["contract"]).definition.name(PROFILES["contract"])
    'nDCG@10'
    """
    name = parse_name(_unalias(text.strip(), profile))
    return Request(_match(name.ungrouped(), profile, text), name.group)


def canonical(text: str, profile: Profile) -> str:
    """The name of a measure as the profile prints it.

    Parameters
    ----------
    text : str
        Name of a measure, with its group if any.
    profile : Profile
        Profile that decides what the name means.

    Returns
    -------
    str
        The canonical name.

    Raises
    ------
    UnknownNameError
        If the name has no meaning.

    Examples
    --------
    >>> from evidentia.measures import PROFILES  # which fills the catalogue
    >>> canonical("roc_auc[fold=3]", PROFILES["contract"])
    'AUROC[fold=3]'
    """
    request = resolve(text, profile)
    return request.definition.name(profile) + str(Name("", group=request.group))


def _unalias(text: str, profile: Profile) -> str:
    body, bracket, group = text.partition("[")
    word = body.lower()
    if word in {"macro_f1", "macrof1"}:
        return f"F1(avg={profile.macro_f1}){bracket}{group}"
    if body not in _BASES.values() and word in _WORD_ALIASES:
        return _WORD_ALIASES[word] + bracket + group
    match = _ALIAS.fullmatch(text)
    if match is not None and match["word"].lower() in _CUT_ALIASES and match["word"] not in _BASES.values():
        return _CUT_ALIASES[match["word"].lower()].format(match["cut"]) + (match["group"] or "")
    return text


def _match(name: Name, profile: Profile | None, text: str) -> Definition:
    base = _BASES.get(name.base.lower())
    if base is None:
        close = difflib.get_close_matches(name.base, _BASES.values(), n=3, cutoff=0.5)
        hint = f" Did you mean {' or '.join(_example(word) for word in close)}?" if close else ""
        raise UnknownNameError(f"Unknown measure {typed(text)}.{hint} `evidentia measures` lists them all.")
    same_base = [measure for measure in MEASURES if measure.base == base]
    kind = None if name.cut is None else name.cut.kind
    fitting = [measure for measure in same_base if measure.cut == kind]
    for measure in fitting:
        args = _arguments(measure, name, profile)
        if args is not None:
            return Definition(measure, args)
    if profile is not None and not name.params and name.cut is None:  # F1 alone: at the system's own yes/no
        with suppress(UnknownNameError):
            return _match(replace(name, params=(("t", "gate"),)), profile, text)
    raise UnknownNameError(f"{typed(text)} does not name one definition of {base}. {_ways(same_base)}")


def _arguments(measure: Measure, name: Name, profile: Profile | None) -> Args | None:
    """Every parameter of the measure, given or by default; None if the name does not fit this measure."""
    written: dict[str, str] = {}
    for key, value in name.params:
        parameter = measure.parameter(key) if key else _bare(measure, value)
        plain = value if parameter is None else parameter.plain(value)
        if parameter is None or not parameter.accepts(plain):
            return None
        written[parameter.name] = plain
    params: dict[str, str] = {}
    for parameter in measure.params:
        choice = written.get(parameter.name) or _default(measure, parameter, profile)
        if choice is None:
            return None
        params[parameter.name] = choice
    moot = measure.without_effect(params)  # such a choice takes its default, so that one thing has one definition
    params |= {p.name: p.default for p in measure.params if p.name in moot and p.default is not None}
    return Args(params, name.cut)


def _bare(measure: Measure, value: str) -> Parameter | None:
    return next((p for p in measure.params if p.bare and p.accepts(value)), None)


def _default(measure: Measure, parameter: Parameter, profile: Profile | None) -> str | None:
    chosen = None if profile is None else profile.defaults.get((measure.base, parameter.name))
    return chosen if chosen is not None and parameter.accepts(chosen) else parameter.default


def _example(base: str) -> str:
    """A name that can be typed as it stands."""
    measure = next(measure for measure in MEASURES if measure.base == base)
    needed = ",".join(f"{p.name}={p.values[0]}" for p in measure.params if p.default is None and not p.bare)
    return (
        base
        + (f"({needed})" if needed else "")
        + {"k": "@10", "FPR": "@FPR=5%", "t": "@t=0.2", "coverage": "@coverage=0.5", "C": "@C=0.5"}.get(
            measure.cut or "", "@cut=10" if measure.cut == "cut" else ""
        )
    )


def _ways(measures: list[Measure]) -> str:
    return "It can be written " + ", or ".join(pattern(measure) for measure in measures) + "."


def pattern(measure: Measure) -> str:
    """How names of a measure are written, with the values of each parameter.

    Parameters
    ----------
    measure : Measure
        A registered measure.

    Returns
    -------
    str
        The pattern, as the reference shows it.

    Examples
    --------
    >>> from evidentia.measures import MEASURES
    >>> pattern(next(measure for measure in MEASURES if measure.base == "nDCG"))
    'nDCG(pop=positives|all,avg=pooled|criterion)@K'
    """
    cuts = {None: "", "k": "@K", "FPR": "@FPR=5%", "t": "@t=0.2", "coverage": "@coverage=0.5", "C": "@C=0.5"}
    cuts["cut"] = "@cut=10"
    choices = [
        "|".join(p.values) if p.bare else f"{p.name}={'|'.join(p.values)}{'|...' if p.share or p.whole_number else ''}"
        for p in measure.params
    ]
    return measure.base + (f"({','.join(choices)})" if choices else "") + cuts[measure.cut]
