"""Single edits of a written result, each of which verification must notice, by its numbers and not by its bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from evidentia.verifying import verify_numbers

from .made import Content, Copy, copied, evaluated, result, small_run

__all__ = ["result"]
Edit = Callable[[Copy], object]


def nudged(cell: str) -> str:
    return repr(float(cell) + 1e-6)


def first_with(content: Content, field: str) -> str:
    """The first entry where a field says something."""
    return next(name for name, entry in content["measures"].items() if entry[field])


def degenerate_gone(content: Content) -> None:
    content["measures"][first_with(content, "degenerate")]["degenerate"] = None


def warning_gone(content: Content) -> None:
    content["measures"][first_with(content, "warnings")]["warnings"] = []


def swapped(content: Content, one: str, other: str) -> None:
    entries = content["measures"]
    entries[one]["value"], entries[other]["value"] = entries[other]["value"], entries[one]["value"]


def reordered(content: Content) -> None:
    content["measures"] = dict(reversed(content["measures"].items()))


def other_gold_rank(cell: str) -> str:
    """Move the last of a ranking to its top."""
    uids = cell.split("|")
    return "|".join([uids[-1], *uids[:-1]])


def with_first(column: str, value: object) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """A frame with another value in the first cell of a column."""

    def edit(frame: pl.DataFrame) -> pl.DataFrame:
        series = frame[column].to_list()
        series[0] = value(series[0]) if callable(value) else value
        return frame.with_columns(pl.Series(column, series, frame[column].dtype))

    return edit


def without_file(copy: Copy, name: str) -> None:
    (copy.folder / name).unlink()
    copy.manifest(lambda content: content["files"].pop(name))


def with_file(copy: Copy, name: str) -> None:
    (copy.folder / name).write_text("measure\n", encoding="utf-8")
    copy.renew(name)


def positive_row(copy: Copy) -> int:
    """A query with evidence, by its line."""
    return next(
        i for i, line in enumerate((copy.folder / "per_query.csv").read_text().splitlines()) if ",true," in line
    )


def row_dropped(copy: Copy) -> None:
    lines = (copy.folder / "per_query.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (copy.folder / "per_query.csv").write_text("".join([*lines[:5], *lines[6:]]), encoding="utf-8")
    copy.renew("per_query.csv")


def details(name: str, *path: str | int, to: object) -> Edit:
    def edit(content: Content) -> None:
        at = content["measures"][name]["details"]
        for step in path[:-1]:
            at = at[step]
        assert at[path[-1]] != to
        at[path[-1]] = to

    return lambda copy: copy.summary(edit)


SUMMARY: dict[str, Edit] = {
    "a value": lambda c: c.measure("AUROC", value=0.5000001),
    "a count": lambda c: c.summary(
        lambda s: s["measures"]["TP(t=gate)"].update(value=s["measures"]["TP(t=gate)"]["value"] + 1)
    ),
    "a value in a group": lambda c: c.measure("nDCG@10[criterion=A.1]", value=0.1),
    "a value that is none": lambda c: c.measure("Brier", value=None),
    "two values swapped": lambda c: c.summary(lambda s: swapped(s, "Recall@1", "Recall@5")),
    "n": lambda c: c.measure("Recall@10", n=31),
    "n_clusters": lambda c: c.measure("Recall@10", n_clusters=7),
    "a degenerate flag gained": lambda c: c.measure("AUPRC", degenerate="no queries with evidence"),
    "a degenerate flag lost": lambda c: c.summary(degenerate_gone),
    "fold_mean": lambda c: c.measure("AUROC", fold_mean=0.9),
    "fold_std": lambda c: c.measure("AUROC", fold_std=0.01),
    "folds_used": lambda c: c.measure("AUROC", folds_used=3),
    "a median": lambda c: c.summary(lambda s: s["measures"]["MRR"]["distribution"].update(median=0.4999)),
    "a histogram": lambda c: c.summary(
        lambda s: s["measures"]["SelectedK"]["distribution"]["histogram"].update({"0": 1})
    ),
    "what is left out": lambda c: c.measure("Recall@10", left_out={}),
    "a reliability bin's size": details("ECE", "bins", 0, "n", to=1),
    "a reliability bin's mean": details("ECE", "bins", 0, "mean_prob", to=0.05),
    "a prevalence": details("AUPRC", "prevalence", to=0.5),
    "a threshold": details("TPR@FPR=5%", "threshold", to=0.5),
    "an achieved FPR": details("TPR@FPR=5%", "achieved_fpr", to=0.05),
    "a tuned threshold": details("TPR(tuned)@FPR=5%", "thresholds", "1", "value", to=0.5),
    "a definition": lambda c: c.measure("MAP@10", definition="MAP(norm=min,pop=positives,avg=pooled)@10"),
    "a population": lambda c: c.measure("Recall@10", population="all queries"),
    "a direction": lambda c: c.measure("Brier", direction="higher"),
    "a label": lambda c: c.measure("Brier", label="Logarithmic loss"),
    "a meaning": lambda c: c.measure("AUROC", meaning="0.5 is perfect."),
    "a family": lambda c: c.measure("AUROC", family="ranking"),
    "a warning lost": lambda c: c.summary(warning_gone),
    "a measure removed": lambda c: c.summary(lambda s: s["measures"].pop("MCC(t=gate)")),
    "a group removed": lambda c: c.summary(lambda s: s["measures"].pop("AUROC[fold=3]")),
    "a measure added": lambda c: c.summary(lambda s: s["measures"].update({"Recall@2": s["measures"]["Recall@1"]})),
    "the order": lambda c: c.summary(reordered),
    "the profile": lambda c: c.summary(lambda s: s.update(profile="audit")),
    "the seed": lambda c: c.summary(lambda s: s.update(seed=8)),
    "the resamples": lambda c: c.summary(lambda s: s.update(resamples=10_000)),
    "the number of posts": lambda c: c.summary(lambda s: s["dataset"].update(posts=41)),
    "the number of folds": lambda c: c.summary(lambda s: s["dataset"].update(folds=4)),
    "rows left out": lambda c: c.summary(lambda s: s["dataset"].update(left_out={})),
    "another profile's value": lambda c: c.summary(lambda s: s["other_definitions"][0].update(value=0.7)),
    "another profile's name": lambda c: c.summary(
        lambda s: s["other_definitions"][0].update(profiles=["audit", "e2e"])
    ),
    "another definition removed": lambda c: c.summary(lambda s: s["other_definitions"].pop()),
    "a gap that is none": lambda c: c.summary(
        lambda s: s["not_computed"].append(
            {"family": "gate", "reason": "needs a state column", "measures": ["NegRate"]}
        )
    ),
    "a check": lambda c: c.summary(lambda s: s["checks"][1].update(status="failed")),
}
MANIFEST: dict[str, Edit] = {
    "the manifest's seed": lambda c: c.manifest(lambda m: m.update(seed=8)),
    "the manifest's profile": lambda c: c.manifest(lambda m: m.update(profile="audit")),
    "the K list": lambda c: c.manifest(lambda m: m["options"].update(k=["1", "5"])),
    "the slices": lambda c: c.manifest(lambda m: m["options"].update(by=[])),
    "dual mode": lambda c: c.manifest(lambda m: m["options"].update(dual=True)),
    "a recorded threshold": lambda c: c.manifest(lambda m: m["thresholds"][0].update(value=0.9)),
    "a threshold's fold": lambda c: c.manifest(lambda m: m["thresholds"][0].update(fold="9")),
    "a tuning post": lambda c: c.manifest(lambda m: m["thresholds"][0]["tuned_on_posts"].pop()),
    "a threshold removed": lambda c: c.manifest(lambda m: m["thresholds"].pop()),
    "an input's name": lambda c: c.manifest(lambda m: m["inputs"][0].update(name="/home/somebody/per_query.csv")),
    "an input's rows": lambda c: c.manifest(lambda m: m["inputs"][0].update(rows=7)),
    "a byte": lambda c: (c.folder / "tables" / "folds.csv").write_text("measure\n"),
    "a table removed": lambda c: without_file(c, "tables/folds.csv"),
    "a table added": lambda c: with_file(c, "tables/best.csv"),
    "a file that is not listed": lambda c: (c.folder / "notes.txt").write_text("all is well"),
}
DATA: dict[str, Edit] = {
    "a prob": lambda c: c.cell("per_query.csv", 3, "prob", lambda _: "0.77"),
    "a prob by little": lambda c: c.cell("per_query.csv", 3, "prob", nudged),
    "a prob that is none": lambda c: c.cell("per_query.csv", 3, "prob", lambda _: "high"),
    "a fold": lambda c: c.cell("per_query.csv", 1, "fold", lambda fold: "1" if fold != "1" else "2"),
    "a state": lambda c: c.cell("per_query.csv", 2, "state", lambda state: "POS" if state != "POS" else "NEG"),
    "a split": lambda c: c.cell("per_query.csv", 2, "split", lambda _: "TUNE"),
    "a slice": lambda c: c.cell("per_query.csv", 2, "subreddit", lambda _: "elsewhere"),
    "a criterion": lambda c: c.cell("per_query.csv", 2, "criterion_id", lambda _: "A.9"),
    "a post": lambda c: c.cell("per_query.csv", 2, "post_id", lambda _: "post-x"),
    "whether there is evidence": lambda c: c.cell(
        "per_query.csv", 2, "has_evidence", lambda told: "false" if told == "true" else "true"
    ),
    "a ranking": lambda c: c.cell("per_query.csv", positive_row(c), "ranked_sent_uids", other_gold_rank),
    "a gold sentence": lambda c: c.cell("per_query.csv", positive_row(c), "gold_sent_uids", lambda uids: uids + "x"),
    "a selection": lambda c: c.cell(
        "per_query.csv", 2, "selected_sent_uids", lambda uids: uids + "|x" if uids else "x"
    ),
    "a query's own value": lambda c: c.cell("per_query.csv", 2, "Brier", nudged),
    "a query's own value removed": lambda c: c.cell("per_query.csv", 2, "LogLoss", lambda _: ""),
    "a header": lambda c: c.cell("per_query.csv", 0, "Recall@1", lambda _: "Recall@2"),
    "a query dropped": row_dropped,
    "a candidate's gold mark": lambda c: c.parquet("candidates.parquet", with_first("is_gold", lambda gold: not gold)),
    "a candidate's score": lambda c: c.parquet("candidates.parquet", with_first("node_prob", 0.99)),
    "a TUNE probability": lambda c: c.parquet(
        "tune.parquet", lambda frame: frame.with_columns(prob=pl.col("prob") * 0.5)
    ),
    "a TUNE label": lambda c: c.parquet("tune.parquet", with_first("has_evidence", lambda told: not told)),
    "a TUNE post": lambda c: c.parquet("tune.parquet", with_first("post_id", "post-x")),
}
TABLES: dict[str, Edit] = {
    "a table's value": lambda c: c.cell("tables/measures.csv", 4, "value", nudged),
    "a table's definition": lambda c: c.cell("tables/measures.csv", 4, "definition", lambda _: "AUROC"),
    "a table's meaning": lambda c: c.cell("tables/measures.csv", 4, "meaning", lambda _: "good"),
    "a table's label": lambda c: c.cell("tables/measures.csv", 4, "measure", lambda _: "AUPRC"),
    "a table's header": lambda c: c.cell("tables/measures.csv", 0, "value", lambda _: "mean"),
    "a fold's cell": lambda c: c.cell("tables/folds.csv", 4, "fold 2", nudged),
    "a mean over folds": lambda c: c.cell("tables/folds.csv", 4, "mean", nudged),
    "a criterion's cell": lambda c: c.cell("tables/criteria.csv", 1, "AUROC", lambda _: ""),
    "a slice's cell": lambda c: c.cell("tables/slice_1.csv", 1, "Queries", lambda _: "1.0"),
    "a confusion cell": lambda c: c.cell("tables/confusion.csv", 1, "TP", lambda _: "1.0"),
    "a state's cell": lambda c: c.cell("tables/states.csv", 1, "SelectedK", lambda _: "1.0"),
    "a cell of another definition": lambda c: c.cell("tables/other_definitions.csv", 1, "other value", nudged),
    "a reliability cell": lambda c: c.cell("tables/reliability.csv", 1, "mean_prob", nudged),
    "a LaTeX value": lambda c: c.text("tables/confusion.tex", "0.", "1."),
    "a LaTeX label": lambda c: c.text("tables/confusion.tex", "t=gate", "t=0.5"),
    "a LaTeX header": lambda c: c.text("tables/confusion.tex", "Specificity", "Sensitivity"),
    "a LaTeX warning": lambda c: c.text("tables/measures.tex", "folds are undefined", "folds are fine"),
    "an ROC point": lambda c: c.cell("figures/roc.csv", 9, "tpr", nudged),
    "an ROC grid": lambda c: c.cell("figures/roc.csv", 9, "fpr", nudged),
    "an operating point": lambda c: c.cell("figures/roc_points.csv", 3, "tpr", nudged),
    "a fold's ROC point": lambda c: c.cell("figures/roc.csv", 9, "fold 1", nudged),
    "a precision": lambda c: c.cell("figures/pr.csv", 50, "precision", nudged),
    "a baseline": lambda c: c.cell("figures/pr.csv", 50, "prevalence", nudged),
    "a figure's header": lambda c: c.cell("figures/pr.csv", 0, "fold 1", lambda _: "fold 2"),
    "a binomial limit": lambda c: c.cell("figures/reliability.csv", 1, "share_low", nudged),
}
PARTS = {"summary": SUMMARY, "manifest": MANIFEST, "data": DATA, "tables": TABLES}
EDITS = {(part, name): edit for part, edits in PARTS.items() for name, edit in edits.items()}
INTERVALS: dict[str, Edit] = {
    "a lower limit": lambda c: c.summary(lambda s: s["measures"]["AUROC"]["ci"].__setitem__(0, 0.5)),
    "an upper limit in a group": lambda c: c.summary(
        lambda s: s["measures"]["Brier[fold=1]"]["ci"].__setitem__(1, 0.99)
    ),
    "an interval removed": lambda c: c.measure("Brier", ci=None),
    "a method": lambda c: c.measure("Brier", ci_method="bca"),
    "resamples left out": lambda c: c.measure("Brier", replicates_left_out=1),
    "a warning about the interval": lambda c: c.measure("Queries", warnings=[]),
    "a band": lambda c: c.cell("figures/roc.csv", 9, "low", nudged),
}


def test_there_are_enough_edits_and_none_twice() -> None:
    assert len(EDITS) == len({name for _, name in EDITS}) >= 100


def test_the_result_verifies_before_it_is_edited(result: Path) -> None:
    found = verify_numbers(result)
    assert (found.passed, found.mismatches) == (True, ())
    assert found.comparisons > 20_000


@pytest.mark.sample(every=56, by=("part",))
@pytest.mark.parametrize(("part", "name"), EDITS)
def test_a_single_edit_is_noticed(part: str, name: str, result: Path, tmp_path: Path) -> None:
    copy = copied(result, tmp_path / "out")
    EDITS[part, name](copy)
    assert verify_numbers(copy.folder).mismatches


@pytest.fixture(scope="session")
def resampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("resampled")
    out = evaluated(small_run(home / "run"), home / "out", resamples=50)
    assert verify_numbers(out).passed
    return out


@pytest.mark.sample(every=6)
@pytest.mark.parametrize("edit", INTERVALS.values(), ids=INTERVALS.keys())
def test_a_single_edit_of_an_interval_is_noticed(edit: Edit, resampled: Path, tmp_path: Path) -> None:
    copy = copied(resampled, tmp_path / "out")
    edit(copy)
    assert verify_numbers(copy.folder).mismatches
