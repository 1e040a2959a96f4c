"""What to be careful with travels with every number of a comparison, into each file and onto the screen."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

import evidentia
from cli.command import evidentia as command
from cli.command import evidentia_apart
from evidentia.results import Comparison, Delta

from .systems import gated, probable, read, save, system

LABELS = [1, 0] * 20


def test_both_sizes_are_told_where_the_population_depends_on_the_system() -> None:
    shy, bold = gated(["POS", *["NEG"] * 39], LABELS), gated(["POS"] * 40, LABELS)
    comparison = evidentia.compare(shy, bold, measures=["AlertPrecision", "PosRate"], resamples=200)
    alerts, rate = comparison["AlertPrecision"], comparison["PosRate"]
    assert (alerts.n, alerts.n_clusters, alerts.system_n, alerts.system_n_clusters) == (1, 1, 40, 40)
    assert (rate.n, rate.n_clusters, rate.system_n, rate.system_n_clusters) == (40, 40, 40, 40)


@pytest.mark.parametrize("order", [1, -1])
def test_the_smaller_of_the_two_populations_decides_whether_it_is_small(order: int) -> None:
    one = gated(["POS"] * 12 + ["NEG"] * 28, LABELS), gated(["POS"] * 40, LABELS)
    delta = evidentia.compare(*one[::order], measures=["AlertPrecision"], resamples=200)["AlertPrecision"]
    assert delta.warnings[0].startswith(
        "rests on 12 posts (fewer than 50): 5 % tests saw a difference where there is none in 0.0 to 6.3 %"
    )


@pytest.mark.parametrize(("changed", "warned"), [(0, False), (1, True), (9, True), (10, False)])
def test_few_posts_in_which_two_systems_differ_are_warned_of(changed: int, warned: bool) -> None:
    """Sixty posts of each label; the answers to some of those with evidence change, which leaves specificity as it is."""
    labels = [1, 0] * 60
    states = ["POS" if i % 3 else "NEG" for i in range(120)]
    other = list(states)
    for i in range(0, 2 * changed, 2):
        other[i] = "POS" if states[i] == "NEG" else "NEG"
    names = ["PosRate", "ScreeningSensitivity", "Specificity(t=gate)"]
    comparison = evidentia.compare(gated(states, labels), gated(other, labels), measures=names, resamples=50)
    told = f"the systems differ in {changed} post{'' if changed == 1 else 's'} (fewer than 10)"
    for name in names[:2]:
        assert any(warning.startswith(told) for warning in comparison[name].warnings) == warned
    assert not any("differ in" in warning for warning in comparison["Specificity(t=gate)"].warnings)


def test_resamples_in_which_one_of_the_two_is_undefined_are_told() -> None:
    shy, bold = gated(["POS", *["NEG"] * 39], LABELS), gated(["POS"] * 40, LABELS)
    delta = evidentia.compare(shy, bold, measures=["AlertPrecision"], resamples=200)["AlertPrecision"]
    left_out = delta.replicates_left_out
    assert 50 < left_out < 100  # a draw of 40 misses a given post with probability 0.36
    assert f"undefined in {left_out} of 200 resamples, which are left out of the interval" in delta.warnings


def test_a_difference_that_no_resample_defines_has_no_interval_for_that_reason() -> None:
    runs = [probable(prob, [1, 0]) for prob in ([0.9, 0.1], [0.1, 0.9])]
    found = [evidentia.compare(*runs, measures=["AUROC"], resamples=2, seed=seed)["AUROC"] for seed in range(20)]
    never = [delta for delta in found if delta.replicates_left_out == 2]
    assert never
    for delta in never:
        assert (delta.delta, delta.ci, delta.p, delta.verdict) == (-1.0, None, None, "undefined")
        assert "no interval: undefined in every resample" in delta.warnings
    some = [delta for delta in found if delta.replicates_left_out < 2]
    assert all("no interval: one post does not show chance" in delta.warnings for delta in some)
    assert some


def split_run(difficulty: float, *, untuned: str | None = None) -> evidentia.Run:
    """A run with folds and TUNE rows, but for those of one fold."""
    frame = system(difficulty, splits=True)
    return read(frame.filter((pl.col("split") != "TUNE") | (pl.col("fold").cast(pl.String) != (untuned or ""))))


WORDS = "fold 2 cannot be tuned: no TUNE queries: its queries are left out"


@pytest.mark.parametrize(
    ("untuned", "expected"), [((None, "2"), f"b: {WORDS}"), (("2", None), f"a: {WORDS}"), (("2", "2"), WORDS)]
)
def test_a_fold_that_cannot_be_tuned_is_told_with_the_system_it_is_about(
    untuned: tuple[str | None, str | None], expected: str
) -> None:
    runs = [split_run(difficulty, untuned=fold) for difficulty, fold in zip((0.3, 0.9), untuned, strict=True)]
    comparison = evidentia.compare(*runs, names=["a", "b"], measures=["TPR(tuned)@FPR=10%", "AUROC"], resamples=20)
    assert [w for w in comparison["TPR(tuned)@FPR=10%"].warnings if "tuned" in w] == [expected]
    assert not [w for w in comparison["AUROC"].warnings if "tuned" in w]


def test_criteria_that_a_mean_leaves_out_are_told() -> None:
    """The second criterion has no evidence, so AUROC has no value in it."""
    frame = pl.DataFrame(
        {
            "post_id": [f"p{i:02}" for i in range(40) for _ in "AB"],
            "criterion_id": ["A", "B"] * 40,
            "has_evidence": [label for i in range(40) for label in (i % 2, 0)],
            "prob": [0.3 + 0.01 * i for i in range(40) for _ in "AB"],
        }
    )
    other = frame.with_columns(1 - pl.col("prob"))
    name = "AUROC(avg=criterion)"
    delta = evidentia.compare(read(frame), read(other), measures=[name], resamples=20)[name]
    assert "1 of 2 criteria are undefined and left out of the mean" in delta.warnings


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems with enough posts for some numbers, and too few for others."""
    home = tmp_path_factory.mktemp("results")
    for name, difficulty in {"good": 0.3, "bad": 0.9}.items():
        save(system(difficulty, posts=120, positives=150), home / name)
    return home


@pytest.fixture(scope="module")
def written(folders: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Comparison]:
    out = tmp_path_factory.mktemp("warned") / "out"
    return out, evidentia.compare(folders / "good", folders / "bad", resamples=200, out=out)


def test_latex_numbers_the_warnings_and_says_each_once_below(written: tuple[Path, Comparison]) -> None:
    out, comparison = written
    deltas = [delta for delta in comparison.deltas if delta.family == "criteria"]
    text = (out / "tables" / "deltas_criteria.tex").read_text(encoding="utf-8")
    body = text.split("\\midrule\n")[1].split("\n\\bottomrule\n")[0].splitlines()
    below = text.split("\\bottomrule\n")[1].removesuffix("\\end{tabular}\n").splitlines()
    start = "\\multicolumn{16}{p{\\linewidth}}{\\textsuperscript{"
    notes = dict(line.removeprefix(start).removesuffix("} \\\\").split("} ", 1) for line in below)
    assert len(notes) == len({delta.warnings for delta in deltas if delta.warnings}) > 1
    assert len(set(notes.values())) == len(notes)
    for line, delta in zip(body, deltas, strict=True):
        first = line.split(" & ")[0]
        number = first.partition("\\textsuperscript{")[2].removesuffix("}")
        assert notes.get(number, "") == "; ".join(delta.warnings).replace("%", r"\%"), delta.name
    assert any(not delta.warnings for delta in deltas)


def test_the_screen_marks_what_has_a_warning_and_says_it_below(folders: Path, written: tuple[Path, Comparison]) -> None:
    ran = command("compare", folders / "good", folders / "bad", "--resamples", 200)
    lines = ran.out.splitlines()
    rows = {line.split()[0]: line.rstrip() for line in lines[3:] if "to" in line.split()[4:6] and line[0] != "*"}
    shown: list[Delta] = [delta for delta in written[1].deltas if delta.name in rows]
    assert len(shown) > 15
    for delta in shown:
        assert rows[delta.name].endswith(" *") == bool(delta.warnings), delta.name
    said = " ".join(ran.out.split())
    assert {bool(delta.warnings) for delta in shown} == {True, False}
    assert all(warning in said for delta in shown for warning in delta.warnings)
    rest = sum(bool(delta.warnings) for delta in written[1].deltas) - sum(bool(delta.warnings) for delta in shown)
    assert f"* {rest} more warnings, per criterion or in minor measures: see comparison.json" in said


def test_the_screen_says_where_the_sizes_differ(folders: Path, written: tuple[Path, Comparison]) -> None:
    delta = written[1]["AlertPrecision"]
    assert delta.n != delta.system_n
    ran = command(
        "compare", folders / "good", folders / "bad", "--resamples", 200, "--measures", "AlertPrecision,AUROC"
    )
    assert f"n of the two: AlertPrecision {delta.system_n} against {delta.n}" in ran.out.splitlines()
    assert "n of the two" not in command("compare", folders / "good", folders / "good", "--resamples", 20).out


def test_the_table_fits_into_80_columns(folders: Path) -> None:
    words = ("compare", folders / "good", folders / "bad", "--resamples", 200)
    ran = evidentia_apart(*words, env={"COLUMNS": "80"})
    assert (ran.code, ran.err) == (0, "")
    assert "AlertsPer1000" in ran.out
    assert "…" not in ran.out


def test_a_warning_with_the_name_of_a_folder_is_text_everywhere(tmp_path: Path) -> None:
    """The name of a system stands before what holds for it alone, and a folder may be called anything."""
    names = {"=1+1 [b] & 5%": 0.3, "plain": 0.9}
    for name, difficulty in names.items():
        frame = system(difficulty, splits=True, posts=90)
        lost = (pl.col("split") == "TUNE") & (pl.col("fold").cast(pl.String) == "2") & (name != "plain")
        save(frame.filter(~lost), tmp_path / name)
    out = tmp_path / "out"
    words = ("--measures", "FPR(tuned)@FPR=10%", "--resamples", 20, "-o", out)
    ran = command("compare", *(tmp_path / name for name in names), *words)
    assert f"=1+1 [b] & 5%: {WORDS}" in " ".join(ran.out.split())
    with (out / "tables" / "deltas_measures.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["warnings"] == f"'=1+1 [b] & 5%: {WORDS}"
    assert r"=1+1 {[}b] \& 5\%: fold 2" in (out / "tables" / "deltas_measures.tex").read_text(encoding="utf-8")
