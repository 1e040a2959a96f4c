"""`tuned.json` of a step: on which posts its node probabilities were calibrated, and that the calibrator makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evidentia.verify.evidence import read_plain_queries, read_tune
from evidentia.verify.folder import ResultFolder, read_json
from evidentia.verify.given_calibrators import calibrated
from evidentia.verify.given_rows import posts_sha256
from evidentia.verify.order import as_numbers
from evidentia.verify.tally import Tally

FOLD = ["fold", "node_calibrator", "selection", "tuned_on"]


def check_tuned(result: ResultFolder, applies_to: str, tally: Tally) -> None:
    """Compare the tuned.json beside a result with its TUNE posts and its candidates."""
    step = result.path.parent
    where, document = f"steps/{step.name}/tuned.json", read_json(step / "tuned.json")
    posts: dict[str, set[str]] = {}
    for query in read_tune(result):
        posts.setdefault(str(query.fold), set()).add(query.post)
    tally.exact(f"{where}: keys", sorted(document), ["folds", "schema"])
    tally.exact(f"{where}: schema", document["schema"], "evidentia.tuned/1")
    tally.exact(f"{where}: folds", [entry["fold"] for entry in document["folds"]], list(as_numbers(posts)))
    for entry in document["folds"]:
        place, origin = f"{where}: fold {entry['fold']}", entry["tuned_on"]
        tally.exact(f"{place}: keys", sorted(entry), FOLD)
        tally.exact(f"{place}: selection: applies_to", entry["selection"]["applies_to"], applies_to)
        tally.exact(f"{place}: tuned_on: posts", sorted(origin["posts"]), sorted(posts[str(entry["fold"])]))
        tally.exact(f"{place}: tuned_on: posts_sha256", origin["posts_sha256"], posts_sha256(origin["posts"]))
        _check_calibrator(place, entry, result, tally)


def _check_calibrator(place: str, entry: Mapping[str, Any], result: ResultFolder, tally: Tally) -> None:
    """The node probability of every candidate that was ranked; one that was cut off has none to share."""
    how = entry["node_calibrator"]
    ranked = {(query.post, query.criterion): set(query.ranked or ()) for query in read_plain_queries(result)}
    for row in result.records("candidates.parquet"):
        if str(row["fold"]) != entry["fold"]:
            continue
        kept = row["sent_uid"] in ranked[str(row["post_id"]), str(row["criterion_id"])]
        expected = calibrated(how["method"], how["parameters"], row["score"], is_prob=False) if kept else 0.0
        tally.number(f"{place}: node_prob of {row['sent_uid']}", row["node_prob"], expected)
