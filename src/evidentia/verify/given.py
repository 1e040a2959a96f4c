"""Thresholds that were given to an evaluation: applied as they say, tuned as they say, every number of them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evidentia.verify.evidence import Query
from evidentia.verify.folder import ResultFolder
from evidentia.verify.given_calibrators import calibrated, choose, compare_parameters
from evidentia.verify.given_certificates import alert_certificate, screening_certificate
from evidentia.verify.given_rows import TuneRow, dealt, lacking, posts_sha256, rows_of, rows_sha256
from evidentia.verify.given_rules import best_pair, candidates, grid_of, one_threshold, three_state, untunable
from evidentia.verify.points import Points, compare
from evidentia.verify.tally import Tally

PLACE = "thresholds.json"
SCHEMA = "evidentia.thresholds/1"
KEYS = ("schema", "score", "choices", "inputs", "folds")
CHOICES = ("rule", "targets", "certify", "calibrate", "seed")
PARTS = 3  # with a calibrator one third of the posts fits it and the others certify
FOLD = ("fold", "tune_queries", "tune_positives", "tune_sha256", "calibrator", "threshold", "three_state")
Content = Mapping[str, Any]


def check_given(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """The thresholds in the folder: what the manifest says of them, what the rows say of them, and where they come from."""
    applied = folder.manifest.get("applied_thresholds")
    if applied is None:
        return
    document = folder.thresholds
    compare("manifest.json: applied_thresholds", applied, _without_grids(document), tally)
    _check_head(folder, document, tally)
    known = {fold["fold"] for fold in document["folds"]}
    judged = {query.fold for query in points.study.queries}
    tally.exact(f"{PLACE}: folds of the run without thresholds", sorted(map(str, judged - known)), [])
    strange = 0
    for reported in document["folds"]:
        fold = None if reported["fold"] is None else str(reported["fold"])
        mine = [query for query in points.study.queries if query.fold == fold]
        _check_applied(reported, document, mine, tally)
        rows = rows_of(document, fold, points.study.tune)
        if rows_sha256(rows) == reported["tune_sha256"]:
            _Fold(f"{PLACE}: fold {fold}", reported, document, rows).check(tally)
        else:
            strange += bool(mine)
    _check_note(folder, strange, tally)


def _check_head(folder: ResultFolder, document: Content, tally: Tally) -> None:
    """The document is one of its kind, every fold is there once, and a file that both were made from has as many rows."""
    tally.exact(f"{PLACE}: schema", document["schema"], SCHEMA)
    tally.exact(f"{PLACE}: keys", tuple(document), KEYS)
    tally.exact(f"{PLACE}: choices: keys", tuple(document["choices"]), CHOICES)
    if document["choices"]["rule"] != "three-state":
        asked = [document["choices"][name] for name in ("targets", "certify")]
        tally.exact(f"{PLACE}: choices: targets and certificates of a single threshold", asked, [None, None])
    labels = [str(fold["fold"]) for fold in document["folds"]]
    tally.exact(f"{PLACE}: folds", len(labels), len(set(labels)))
    read = {source["sha256"]: source["rows"] for source in folder.manifest["inputs"] if source["sha256"] is not None}
    for source in document["inputs"]:
        if source["sha256"] in read:
            tally.exact(f"{PLACE}: inputs: {source['role']}: rows", source["rows"], read[source["sha256"]])


def _without_grids(document: Content) -> dict[str, Any]:
    folds = [
        fold | {"three_state": fold["three_state"] and fold["three_state"] | {"grid": {}}} for fold in document["folds"]
    ]
    return {**document, "folds": folds}


def _check_note(folder: ResultFolder, strange: int, tally: Tally) -> None:
    """What cannot be recomputed is admitted where everybody reads it, and nothing else is."""
    phrase = "tuned on rows that are not the TUNE rows of this run"
    names = [source["name"] for source in folder.manifest["inputs"] if source["role"] == "thresholds"]
    folds = f"{strange:,} fold{'' if strange == 1 else 's'}"
    wanted = [f"{name}: the values of {folds} were {phrase}, so `verify` cannot recompute them." for name in names]
    reported = [note for note in folder.summary["notes"] if phrase in note]
    tally.exact(f"summary.json: notes: {phrase}", reported, wanted if strange else [])


def _check_applied(reported: Content, document: Content, mine: Sequence[Query], tally: Tally) -> None:
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
    if reported["calibrator"] is None:
        return
    is_prob = document["score"] == "prob"
    for query in mine:
        score = query.raw_prob if is_prob else query.detection_score
        if score is None:
            raise ValueError("a calibrated row has no score")
        expected = calibrated(
            reported["calibrator"]["method"], reported["calibrator"]["parameters"], score, is_prob=is_prob
        )
        tally.number(f"{where}: prob of post {query.post}, criterion {query.criterion}", query.prob, expected)


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


@dataclass(frozen=True)
class _Fold:
    """What was tuned for a fold, and the rows that it was tuned on."""

    where: str
    reported: Content
    document: Content
    rows: Sequence[TuneRow]

    @property
    def choices(self) -> Content:
        """What was asked for."""
        expected: Content = self.document["choices"]
        return expected

    def check(self, tally: Tally) -> None:
        """Every number of the fold."""
        tally.exact(f"{self.where}: keys", tuple(self.reported), FOLD)
        tally.exact(f"{self.where}: tune_queries", self.reported["tune_queries"], len(self.rows))
        tally.exact(
            f"{self.where}: tune_positives", self.reported["tune_positives"], sum(row.label for row in self.rows)
        )
        fitting, certifying = self._parts()
        self._check_calibrator(fitting, tally)
        if self.reported["threshold"] is not None:
            self._check_threshold(self.reported["threshold"], tally)
        else:
            self._check_three_state(self.reported["three_state"], fitting, certifying, tally)

    def _parts(self) -> tuple[Sequence[TuneRow], Sequence[TuneRow]]:
        """The rows that fit a calibrator and those that certify: apart where both are wanted."""
        posts = {row.post for row in self.rows}
        both = self.choices["certify"] is not None and self.choices["calibrate"] != "none"
        if not both or len(posts) < PARTS:
            return self.rows, self.rows
        part = dealt(posts, PARTS, self.choices["seed"])
        return [r for r in self.rows if part[r.post] == 0], [r for r in self.rows if part[r.post] != 0]

    def _check_calibrator(self, fitting: Sequence[TuneRow], tally: Tally) -> None:
        reported, where, is_prob = (
            self.reported["calibrator"],
            f"{self.where}: calibrator",
            self.document["score"] == "prob",
        )
        tally.exact(f"{where}: there", reported is not None, self.choices["calibrate"] != "none")
        if reported is None:
            return
        own = choose(self.choices["calibrate"], reported["method"], fitting, self.choices["seed"], is_prob=is_prob)
        words = {"method": own.method, "parameters": {}, "log_loss": dict(own.losses), "reason": own.reason}
        self._check_value(where, {**reported, "parameters": {}}, words, fitting, tally)
        compare_parameters(where, reported, own, fitting, tally, is_prob=is_prob)
        for row in self.rows:
            expected = calibrated(reported["method"], reported["parameters"], row.raw, is_prob=is_prob)
            tally.number(f"tune.parquet: prob of post {row.post}, criterion {row.criterion}", row.prob, expected)

    def _check_threshold(self, reported: Content, tally: Tally) -> None:
        where, target = f"{self.where}: threshold", reported["target"]
        rule = reported["rule"] if target is None else f"{reported['rule']}={target:g}"
        tally.exact(f"{where}: rule that was asked for", rule, self.choices["rule"])
        rows = () if reported["rule"] == "fixed" else self.rows  # a fixed value was tuned on nothing
        self._check_value(where, reported, one_threshold(reported["rule"], target, self.rows), rows, tally)

    def _check_three_state(
        self, reported: Content, fitting: Sequence[TuneRow], certifying: Sequence[TuneRow], tally: Tally
    ) -> None:
        where, reason = f"{self.where}: three_state", lacking(self.rows)
        tally.exact(f"{where}: rule that was asked for", "three-state", self.choices["rule"])
        certificates = [] if reason else self._certificates(fitting, certifying)
        own = self._three_state(certificates) if reason is None else untunable(reason)
        self._check_value(where, {k: v for k, v in reported.items() if k != "certificates"}, own, self.rows, tally)
        tally.exact(f"{where}: certificates", len(reported["certificates"]), len(certificates))
        for certificate, expected in zip(reported["certificates"], certificates, strict=False):
            self._check_value(f"{where}: certificate of {expected['name']}", certificate, expected, certifying, tally)

    def _certificates(self, fitting: Sequence[TuneRow], certifying: Sequence[TuneRow]) -> list[dict[str, Any]]:
        if self.choices["certify"] is None:
            return []
        taus, targets = candidates([row.prob for row in fitting]), self.choices["targets"]
        return [
            certificate(certifying, taus, float(targets[name]), float(self.choices["certify"]))
            for certificate, name in (
                (screening_certificate, "ScreeningSensitivity(unit=post)>="),
                (alert_certificate, "AlertPrecision(unit=post)>="),
            )
        ]

    def _three_state(self, certificates: Sequence[Content]) -> dict[str, Any]:
        """The best pair; a certified threshold takes the place of its own, and tau_neg never lies above tau_pos."""
        grid, targets = grid_of(self.rows), self.choices["targets"]
        low, high = best_pair(*grid, targets)
        if certificates:
            low, high = (
                tau if certificate["value"] is None else certificate["value"]
                for certificate, tau in zip(certificates, (low, high), strict=True)
            )
        return three_state((min(low, high), high), grid, self.rows, targets)

    def _check_value(self, where: str, reported: Content, own: Content, rows: Sequence[TuneRow], tally: Tally) -> None:
        """A value and its origin: the posts of the rows that it was chosen on, all of them and no others."""
        compare(where, {key: value for key, value in reported.items() if key != "tuned_on"}, own, tally)
        origin, posts = reported["tuned_on"], sorted({row.post for row in rows})
        tally.exact(f"{where}: tuned_on: fold", origin["fold"], self.reported["fold"])
        tally.exact(f"{where}: tuned_on: score", origin["score"], self.document["score"])
        tally.exact(f"{where}: tuned_on: posts", sorted(origin["posts"]), posts)
        tally.exact(f"{where}: tuned_on: posts_sha256", origin["posts_sha256"], posts_sha256(posts))
