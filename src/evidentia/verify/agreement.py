"""What the files of a result say of each other and of the run: settings, counts, gaps, thresholds, checks."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from evidentia.verify.evidence import Query
from evidentia.verify.folder import ResultFolder
from evidentia.verify.points import Points, compare
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally

SUMMARY = "evidentia.summary/1"
KEYS = (
    *("checks", "dataset", "interval", "measures", "not_computed", "notes", "other_definitions", "profile"),
    *("resamples", "schema", "seed"),
)
ENTRY = (
    *("ci", "ci_method", "definition", "degenerate", "details", "direction", "distribution", "family", "fold_mean"),
    *("fold_std", "folds_used", "label", "left_out", "meaning", "n", "n_clusters", "population"),
    *("replicates_left_out", "value", "warnings"),
)


def check_settings(folder: ResultFolder, tally: Tally) -> None:
    """Summary and manifest agree on how the result was made."""
    tally.exact("summary.json: schema", folder.summary["schema"], SUMMARY)
    tally.exact("summary.json: keys", tuple(sorted(folder.summary)), KEYS)
    for name, entry in folder.summary["measures"].items():
        tally.exact(f"summary.json: {name}: keys", tuple(sorted(entry)), ENTRY)
    given = any(source["role"] == "thresholds" for source in folder.manifest["inputs"])
    tally.exact("manifest.json: applied_thresholds", "applied_thresholds" in folder.manifest, given)
    for key in ("profile", "seed", "resamples"):
        tally.exact(f"summary.json: {key}", folder.summary[key], folder.manifest[key])
    for given in folder.manifest["inputs"]:
        name = str(given["name"])
        tally.exact(f"manifest.json: inputs: {given['role']}: name without a path", name, name.rpartition("/")[2])


def check_dataset(folder: ResultFolder, study: Study, tally: Tally) -> None:
    """The counts of the run, and that no row went missing between the input and the result."""
    said = folder.summary["dataset"]
    counted = {
        "queries": len(study.queries),
        "positives": sum(query.label for query in study.queries),
        "posts": len({query.post for query in study.queries}),
        "criteria": len(study.criteria),
        "folds": len(study.folds) or None,
    }
    for key, number in counted.items():
        tally.exact(f"summary.json: dataset: {key}", said[key], number)
    rows = {str(given["role"]): given["rows"] for given in folder.manifest["inputs"]}
    if "run" in rows and "qrels" not in rows:
        read = rows["run"] + rows.get("tune", 0)
        accounted = len(study.queries) + len(study.tune) + sum(said["left_out"].values())
        tally.exact("summary.json: dataset: left_out (rows that were read less rows that are here)", read, accounted)
    keys = {(query.post, query.criterion) for query in study.queries}
    tally.exact("per_query.csv: different queries", len(keys), len(study.queries))


def check_gaps(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """What was not computed is listed under the reason why it cannot be."""
    gathered: dict[tuple[str, str], list[str]] = {}
    for definition, reason in points.expected.gaps:
        names = gathered.setdefault((definition.measure.family, reason), [])
        names.append(definition.short(points.profile.defaults))
    lacking = [{"family": family, "reason": reason, "measures": names} for (family, reason), names in gathered.items()]
    compare("summary.json: not_computed", folder.summary["not_computed"], lacking, tally)


def check_thresholds(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """Every threshold of the manifest is what its fold's TUNE queries give, chosen on the posts that it names."""
    tuned = [e.definition for e in points.expected.entries.values() if e.definition.get("threshold") == "tuned"]
    chosen = {
        (cut, fold): {
            "rule": "fpr_budget",
            "target": cut,
            "fold": fold,
            "value": threshold.value,
            "reason": threshold.reason,
            "tune_tpr": threshold.tpr,
            "tune_fpr": threshold.fpr,
            "tuned_on_posts": list(threshold.posts),
        }
        for cut in dict.fromkeys(str(definition.cut) for definition in tuned)
        for fold, threshold in points.study.thresholds(cut).items()
    }
    records = folder.manifest["thresholds"]
    said = {(record["target"], record["fold"]): record for record in records}
    tally.exact("manifest.json: thresholds", len(records), len(chosen))
    tally.exact("manifest.json: thresholds: budgets and folds", sorted(said), sorted(chosen))
    for key in said.keys() & chosen.keys():
        compare(f"manifest.json: thresholds: {key[0]}, fold {key[1]}", said[key], chosen[key], tally)


def check_applied(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """Thresholds that were given: every row has its fold's, and none was tuned on a post that it is applied to."""
    applied = folder.manifest.get("applied_thresholds")
    if applied is None:
        return
    queries = points.study.queries
    for fold in applied["folds"]:
        label = None if fold["fold"] is None else str(fold["fold"])
        gate = fold["three_state"] or fold["threshold"]
        mine = [query for query in queries if query.fold == label]
        where = f"manifest.json: applied_thresholds: fold {label}"
        tuned = [str(post) for post in gate["tuned_on"]["posts"]]
        tally.exact(f"{where}: posts that are also judged", sorted({query.post for query in mine} & set(tuned)), [])
        said = hashlib.sha256("\n".join(sorted(tuned)).encode()).hexdigest()
        tally.exact(f"{where}: posts_sha256", gate["tuned_on"]["posts_sha256"], said)
        for key in ("tau_neg", "tau_pos"):
            if fold["three_state"] is not None:
                values = sorted({getattr(query, key) for query in mine})
                tally.exact(f"{where}: {key} of its rows", values, [gate[key]] if mine else [])
        if fold["threshold"] is not None and fold["three_state"] is None:
            values = sorted({query.tau for query in mine if query.tau is not None})
            expected = [1.0 if gate["value"] is None else gate["value"]] if mine else []
            tally.exact(f"{where}: tau of its rows", values, expected)
        if fold["calibrator"] is not None:
            for query in mine:
                given = query.raw_prob if fold["calibrator"]["tuned_on"]["score"] == "prob" else query.detection_score
                place = f"{where}: prob of post {query.post}, criterion {query.criterion}"
                tally.number(place, query.prob, calibrated(fold["calibrator"], given))
        elif fold["three_state"] is not None:
            _check_gate_on_tune(where, gate, [query for query in points.study.tune if query.fold == label], tally)


def calibrated(calibrator: Mapping[str, Any], score: float | None) -> float | None:
    """The probability that a written calibrator makes of a score."""
    method, given = calibrator["method"], calibrator["parameters"]
    if score is None or method == "none":
        return score
    if method == "isotonic":
        return _interpolated(given["x"], given["y"], score)
    clipped = min(max(score, 2.0**-52), 1 - 2.0**-52)
    if method == "beta":
        a, b, c = given["coefficients"]
        return _sigmoid(a * math.log(clipped) - b * math.log1p(-clipped) + c)
    odds = score if calibrator["tuned_on"]["score"] == "detection_score" else math.log(clipped) - math.log1p(-clipped)
    if method == "temperature":
        return _sigmoid(odds / given["temperature"][0])
    slope, intercept = given["coefficients"]
    return _sigmoid(slope * odds + intercept)


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _interpolated(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Straight lines between the points, level beyond them."""
    if x <= xs[0]:
        return ys[0]
    for (x0, y0), (x1, y1) in itertools.pairwise(zip(xs, ys, strict=True)):
        if x < x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return ys[-1]


def _check_gate_on_tune(where: str, gate: Mapping[str, Any], tune: Sequence[Query], tally: Tally) -> None:
    """What the gate reached where it was tuned."""
    if not tune or any(query.prob is None for query in tune):
        return
    skipped = [query for query in tune if (query.prob or 0.0) < gate["tau_neg"]]
    alerts = [query for query in tune if (query.prob or 0.0) >= gate["tau_pos"]]
    positives, missed = sum(query.label for query in tune), sum(query.label for query in skipped)
    found = {
        "ScreeningSensitivity": 1 - missed / positives if positives else None,
        "ScreeningFNPer1000": 1000 * missed / len(tune),
        "Workload": 1 - len(skipped) / len(tune),
        "AlertPrecision": sum(query.label for query in alerts) / len(alerts) if alerts else None,
        "AlertsPer1000": 1000 * len(alerts) / len(tune),
    }
    for name, value in found.items():
        if value is not None:
            tally.number(f"{where}: {name} on TUNE", gate["metrics"][name], value)
