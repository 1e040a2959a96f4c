"""Thresholds that were given to an evaluation: applied as they say, tuned as they say, every number of them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evidentia.verify.calibrators import calibrated, choose
from evidentia.verify.evidence import Query
from evidentia.verify.folder import ResultFolder, as_numbers
from evidentia.verify.points import Points
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally, compare
from evidentia.verify.threshold_rules import (
    alert_certificate,
    candidates,
    one_threshold,
    screening_certificate,
    three_state,
)
from evidentia.verify.tuning import TuneRow, dealt, lacking, posts_sha256, rows_of, rows_sha256

PLACE = "thresholds.json"
SCHEMA = "evidentia.thresholds/1"
KEYS = ("schema", "score", "choices", "inputs", "folds")
CHOICES = ("rule", "targets", "certify", "calibrate", "seed")
CROSS_FIT = "cross_fit"
ADMISSION = (
    "the thresholds of each fold were chosen on the other folds, whose scores come from models that saw this fold. "
    "They are not from TUNE, and may be too favourable."
)
PARTS = 3  # with a calibrator one third of the posts fits it and the others certify
CERTIFICATES = {
    "ScreeningSensitivity(unit=post)>=": screening_certificate,
    "AlertPrecision(unit=post)>=": alert_certificate,
}
Content = Mapping[str, Any]


def check_applied(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """The thresholds in the folder: what the manifest says of them, what the rows say of them, and where they come from."""
    document = folder.thresholds
    applied = folder.manifest["applied_thresholds"]
    compare("manifest.json: applied_thresholds", applied, _without_grids(document), tally)
    _check_head(folder, document, tally)
    known = {fold["fold"] for fold in document["folds"]}
    judged = {query.fold for query in points.study.queries}
    tally.exact(f"{PLACE}: folds of the run without thresholds", sorted(map(str, judged - known)), [])
    strange = 0
    for reported in document["folds"]:
        fold = None if reported["fold"] is None else str(reported["fold"])
        mine = [query for query in points.study.queries if query.fold == fold]
        _check_use(reported, document, mine, tally)
        rows = _rows(document, reported, points.study)
        if rows_sha256(rows) == reported["tune_sha256"]:
            TunedFold(fold, document, rows).check(reported, tally)
        else:
            strange += bool(mine)
    _check_notes(folder, document, strange, tally)


def _check_head(folder: ResultFolder, document: Content, tally: Tally) -> None:
    """The document is one of its kind, every fold is there once, and a file that both were made from has as many rows."""
    tally.exact(f"{PLACE}: schema", document["schema"], SCHEMA)
    tally.exact(f"{PLACE}: keys", tuple(document), KEYS)
    more = (CROSS_FIT,) if _is_cross_fit(document) else ()
    tally.exact(f"{PLACE}: choices: keys", tuple(document["choices"]), (*CHOICES, *more))
    if more:
        tally.exact(f"{PLACE}: choices: certificates of {CROSS_FIT}", document["choices"]["certify"], None)
    if document["choices"]["rule"] != "three-state":
        asked = [document["choices"][name] for name in ("targets", "certify")]
        tally.exact(f"{PLACE}: choices: targets and certificates of a single threshold", asked, [None, None])
    labels = [str(fold["fold"]) for fold in document["folds"]]
    tally.exact(f"{PLACE}: folds", len(labels), len(set(labels)))
    read = {source["sha256"]: source["rows"] for source in folder.manifest["inputs"] if source["sha256"] is not None}
    for source in document["inputs"]:
        if source["sha256"] in read:
            tally.exact(f"{PLACE}: inputs: {source['role']}: rows", source["rows"], read[source["sha256"]])


def _is_cross_fit(document: Content) -> bool:
    return document["choices"].get(CROSS_FIT) is True


def _rows(document: Content, reported: Content, study: Study) -> list[TuneRow]:
    """What a fold was tuned on: its TUNE rows, or what other folds were judged on, under this fold's own calibrator."""
    fold = None if reported["fold"] is None else str(reported["fold"])
    if not _is_cross_fit(document):
        return rows_of(document, fold, study.tune)
    others = rows_of(document, None, [query for query in study.queries if query.fold != fold])
    raw, how = [row.raw for row in others], reported["calibrator"]
    if how is None:
        return others
    probs = calibrated(how["method"], how["parameters"], raw, is_prob=document["score"] == "prob").tolist()
    return [replace(row, prob=prob) for row, prob in zip(others, probs, strict=True)]


def _without_grids(document: Content) -> dict[str, Any]:
    folds = [
        fold | {"three_state": fold["three_state"] and fold["three_state"] | {"grid": {}}} for fold in document["folds"]
    ]
    return {**document, "folds": folds}


def _check_notes(folder: ResultFolder, document: Content, strange: int, tally: Tally) -> None:
    """What cannot be recomputed, or comes from other folds, is admitted where everybody reads it, and nothing else is."""
    phrase = "tuned on rows that are not the TUNE rows of this run"
    if _is_cross_fit(document):
        phrase = "chosen on rows of other folds than those of this run"
    names = [source["name"] for source in folder.manifest["inputs"] if source["role"] == "thresholds"]
    folds = f"{strange:,} fold{'' if strange == 1 else 's'}"
    wanted = [f"{name}: the values of {folds} were {phrase}, so `verify` cannot recompute them." for name in names]
    reported = [note for note in folder.summary["notes"] if phrase in note]
    tally.exact(f"summary.json: notes: {phrase}", reported, wanted if strange else [])
    admitted = [note for note in folder.summary["notes"] if f": {CROSS_FIT}: " in note]
    wanted = [f"{name}: {CROSS_FIT}: {ADMISSION}" for name in names] if _is_cross_fit(document) else []
    tally.exact(f"summary.json: notes: {CROSS_FIT}", admitted, wanted)


def _check_use(reported: Content, document: Content, mine: Sequence[Query], tally: Tally) -> None:
    """Every row has its fold's thresholds and probabilities, and nothing was tuned on a post that it is applied to."""
    where = f"manifest.json: applied_thresholds: fold {reported['fold']}"
    judged = {query.post for query in mine}
    for origin in _origins(reported):
        tally.exact(f"{where}: posts that are also judged", sorted(judged & set(origin["posts"])), [])
        tally.exact(f"{where}: posts_sha256", origin["posts_sha256"], posts_sha256(origin["posts"]))
        tally.exact(f"{where}: fold of the posts", origin["fold"], reported["fold"])
    for name, value in _columns(reported).items():
        values = sorted({getattr(query, name) for query in mine})
        tally.exact(f"{where}: {name} of its rows", values, [value] if mine else [])
    how = reported["calibrator"]
    if how is not None:
        is_prob = document["score"] == "prob"
        scores = [query.raw_prob if is_prob else query.detection_score for query in mine]
        expected = calibrated(
            how["method"], how["parameters"], [float(str(score)) for score in scores], is_prob=is_prob
        )
        for query, prob in zip(mine, expected.tolist(), strict=True):
            tally.number(f"{where}: prob of post {query.post}, criterion {query.criterion}", query.prob, prob)


def _origins(reported: Content) -> Iterator[Content]:
    gate = reported["three_state"] or reported["threshold"]
    for value in (reported["calibrator"], gate, *gate.get("certificates", ())):
        if value is not None:
            yield value["tuned_on"]


def _columns(reported: Content) -> dict[str, float | None]:
    """The columns that the thresholds of a fold become; where everything is rejected tau is 1."""
    if reported["three_state"] is not None:
        return {name: reported["three_state"][name] for name in ("tau_neg", "tau_pos")}
    value = reported["threshold"]["value"]
    return {"tau": 1.0 if value is None else value}


@dataclass(frozen=True, eq=False)
class TunedFold:
    """What the rows of a fold give under the choices that were made."""

    fold: str | None
    document: Content
    rows: Sequence[TuneRow]

    def check(self, reported: Content, tally: Tally) -> None:
        """Every number of the fold; a calibrator is compared by what it makes of scores."""
        where, choices, is_prob = (
            f"{PLACE}: fold {self.fold}",
            self.document["choices"],
            self.document["score"] == "prob",
        )
        fitting, certifying = self._parts()
        how = reported["calibrator"]
        tally.exact(f"{where}: calibrator: there", how is not None, choices["calibrate"] != "none")
        calibrator: dict[str, Any] | None = None
        if choices["calibrate"] != "none" and how is not None:
            own = choose(choices["calibrate"], how["method"], fitting, choices["seed"], is_prob=is_prob)
            calibrator = {"method": own.method, "parameters": {}, "log_loss": dict(own.losses), "reason": own.reason}
            calibrator["tuned_on"] = self._origin(fitting)
            scores = sorted({row.raw for row in fitting})
            theirs, ours = (
                calibrated(method, parameters, scores, is_prob=is_prob).tolist()
                for method, parameters in ((how["method"], how["parameters"]), (own.method, own.parameters))
            )
            compare(f"{where}: calibrator: of TUNE scores", theirs, ours, tally)
            _check_parameters(f"{where}: calibrator", how, own.parameters, scores, tally)
            if not _is_cross_fit(self.document):
                probs = calibrated(how["method"], how["parameters"], [row.raw for row in self.rows], is_prob=is_prob)
                compare("tune.parquet: prob", [row.prob for row in self.rows], probs.tolist(), tally)
        expected = {
            "fold": self.fold,
            "tune_queries": len(self.rows),
            "tune_positives": sum(row.label for row in self.rows),
            "tune_sha256": reported["tune_sha256"],
            "calibrator": calibrator,
            "threshold": None if choices["rule"] == "three-state" else self._threshold(reported["threshold"]),
            "three_state": self._three_state(fitting, certifying) if choices["rule"] == "three-state" else None,
        }
        compare(where, {**reported, "calibrator": how and {**how, "parameters": {}}}, expected, tally)

    def _parts(self) -> tuple[Sequence[TuneRow], Sequence[TuneRow]]:
        """The rows that fit a calibrator and those that certify: apart where both are wanted."""
        posts, choices = {row.post for row in self.rows}, self.document["choices"]
        both = choices["certify"] is not None and choices["calibrate"] != "none"
        if not both or len(posts) < PARTS:
            return self.rows, self.rows
        part = dealt(posts, PARTS, choices["seed"])
        return [r for r in self.rows if part[r.post] == 0], [r for r in self.rows if part[r.post] != 0]

    def _origin(self, rows: Sequence[TuneRow]) -> dict[str, Any]:
        """The posts of the rows that a value was chosen on, all of them and no others."""
        posts = list(as_numbers({row.post for row in rows}))
        score = self.document["score"]
        return {"fold": self.fold, "score": score, "posts": posts, "posts_sha256": posts_sha256(posts)}

    def _threshold(self, reported: Content) -> dict[str, Any]:
        rule, _, target = self.document["choices"]["rule"].partition("=")
        rows = () if rule == "fixed" else self.rows  # a fixed value was tuned on nothing
        level = float(target) if target else None
        if target and f"{reported['target']:g}" == target:  # written with all its digits
            level = reported["target"]
        return one_threshold(rule, level, self.rows) | {"tuned_on": self._origin(rows)}

    def _three_state(self, fitting: Sequence[TuneRow], certifying: Sequence[TuneRow]) -> dict[str, Any]:
        choices, reason = self.document["choices"], lacking(self.rows)
        certificates: list[dict[str, Any]] = []
        if choices["certify"] is not None and reason is None:
            taus = candidates([row.prob for row in fitting])
            certificates = [
                certify(certifying, taus, float(choices["targets"][name]), float(choices["certify"]))
                | {"tuned_on": self._origin(certifying)}
                for name, certify in CERTIFICATES.items()
            ]
        own: dict[str, Any] = {"tau_neg": None, "tau_pos": None, "reason": reason, "met": False, "metrics": {}}
        own |= {"targets": [], "grid": {}}
        if reason is None:
            certified = [certificate["value"] for certificate in certificates] or [None, None]
            own = three_state(self.rows, choices["targets"], certified)
        order = ("tau_neg", "tau_pos", "reason", "met", "metrics", "targets", "certificates", "grid")
        own["certificates"] = certificates
        return {key: own[key] for key in order} | {"tuned_on": self._origin(self.rows)}


def _check_parameters(
    where: str, reported: Content, own: Mapping[str, Sequence[float]], scores: Sequence[float], tally: Tally
) -> None:
    """Parameters are as many as the method has, and steps stand at TUNE scores, in order.

    Their values are compared as functions: far out along a flat likelihood they have fewer right digits than what they give.
    """
    parameters = reported["parameters"]
    if reported["method"] == "isotonic":
        steps = list(parameters["x"])
        tally.exact(f"{where}: parameters", list(parameters), ["x", "y"])
        tally.exact(f"{where}: steps that are not at a TUNE score", [x for x in steps if x not in scores], [])
        tally.exact(f"{where}: steps in order", steps, sorted(set(steps)))
    else:
        sizes = {name: len(values) for name, values in own.items()}
        tally.exact(f"{where}: parameters", {name: len(values) for name, values in parameters.items()}, sizes)
