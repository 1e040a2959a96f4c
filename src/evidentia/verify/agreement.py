"""What the files of a result say of each other and of the run: settings, counts, gaps, thresholds, checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from evidentia.results.estimate import Finding
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
    applied = any(source["role"] == "thresholds" for source in folder.manifest["inputs"])
    tally.exact("manifest.json: applied_thresholds", "applied_thresholds" in folder.manifest, applied)
    for key in ("profile", "seed", "resamples"):
        tally.exact(f"summary.json: {key}", folder.summary[key], folder.manifest[key])
    for source in folder.manifest["inputs"]:
        name = str(source["name"])
        tally.exact(f"manifest.json: inputs: {source['role']}: name without a path", name, name.rpartition("/")[2])


def check_dataset(folder: ResultFolder, study: Study, tally: Tally) -> None:
    """The counts of the run, and that no row went missing between the input and the result."""
    reported = folder.summary["dataset"]
    counted = {
        "queries": len(study.queries),
        "positives": sum(query.label for query in study.queries),
        "posts": len({query.post for query in study.queries}),
        "criteria": len(study.criteria),
        "folds": len(study.folds) or None,
    }
    for key, number in counted.items():
        tally.exact(f"summary.json: dataset: {key}", reported[key], number)
    rows = {str(source["role"]): source["rows"] for source in folder.manifest["inputs"]}
    if "run" in rows and "qrels" not in rows:
        read = rows["run"] + rows.get("tune", 0)
        accounted = len(study.queries) + len(study.tune) + sum(reported["left_out"].values())
        tally.exact("summary.json: dataset: left_out (rows that were read less rows that are here)", read, accounted)
    keys = {(query.post, query.criterion) for query in study.queries}
    tally.exact("per_query.csv: different queries", len(keys), len(study.queries))


def check_gaps(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """What was not computed is listed under the reason why it cannot be."""
    gathered: dict[tuple[str, str], list[str]] = {}
    for definition, reason in points.expected.gaps:
        names = gathered.setdefault((definition.measure.family, reason), [])
        names.append(definition.name(points.profile))
    lacking = [{"family": family, "reason": reason, "measures": names} for (family, reason), names in gathered.items()]
    compare("summary.json: not_computed", folder.summary["not_computed"], lacking, tally)


def check_findings(folder: ResultFolder, findings: Sequence[Finding], tally: Tally) -> None:
    """Every check of the summary came out as it does when it is made again."""
    listed = folder.summary["checks"]
    tally.exact("summary.json: checks", [check["code"] for check in listed], [finding.code for finding in findings])
    for check, finding in zip(listed, findings, strict=False):
        compare(f"summary.json: checks: {finding.code}", check, asdict(finding), tally)


def check_thresholds(folder: ResultFolder, points: Points, tally: Tally) -> None:
    """Every threshold of the manifest is what its fold's TUNE queries give, chosen on the posts that it names."""
    entries = points.expected.entries.values()
    tuned = [e.definition.args.cut for e in entries if e.definition.args.get("threshold") == "tuned"]
    chosen = {
        (str(cut), fold): {
            "rule": "fpr_budget",
            "target": str(cut),
            "fold": fold,
            "value": threshold.value,
            "reason": threshold.reason,
            "tune_tpr": threshold.tpr,
            "tune_fpr": threshold.fpr,
            "tuned_on_posts": list(threshold.posts),
        }
        for cut in dict.fromkeys(tuned)
        if cut is not None
        for fold, threshold in points.study.thresholds(cut).items()
    }
    records = folder.manifest["thresholds"]
    reported = {(record["target"], record["fold"]): record for record in records}
    tally.exact("manifest.json: thresholds", len(records), len(chosen))
    tally.exact("manifest.json: thresholds: budgets and folds", sorted(reported), sorted(chosen))
    for key in reported.keys() & chosen.keys():
        compare(f"manifest.json: thresholds: {key[0]}, fold {key[1]}", reported[key], chosen[key], tally)
