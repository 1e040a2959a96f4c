"""Numbers that other tools print of a run are recognised: by definition, population, tie rule or subset."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import pytrec_eval
from sklearn import metrics

from builders.queries import query, run_of
from cli.command import evidentia
from evidentia.errors import InputError, UnknownNameError
from evidentia.evaluation.find_value import GivenNumber, ValueSearch, find_value
from evidentia.measures import profile_named, resolve
from evidentia.synth import synthetic_run, write_run
from evidentia.tables import Run, read_run

CONTRACT = profile_named("contract")
Ranked = Mapping[str, Mapping[str, float]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("run")
    write_run(synthetic_run(seed=11, posts=120, positives=112), home)
    return home


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return read_run(folder / "per_query.csv", candidates=folder / "candidates.csv")


@pytest.fixture(scope="module")
def ranked(run: Run) -> tuple[Ranked, Ranked]:
    """The run and its judgements as other tools take them."""
    assert run.candidates is not None
    scores: dict[str, dict[str, float]] = {}
    judged: dict[str, dict[str, int]] = {}
    for post, criterion, uid, score, gold in run.candidates.select(
        "post_id", "criterion_id", "sent_uid", "score", "is_gold"
    ).iter_rows():
        scores.setdefault(f"{post} {criterion}", {})[uid] = score
        judged.setdefault(f"{post} {criterion}", {})[uid] = int(gold)
    return scores, judged


def searched(name: str, number: float, run: Run, digits: int = 6) -> ValueSearch:
    return find_value(name, f"{number:.{digits}f}", CONTRACT, {"": run})


def first(name: str, number: float, run: Run) -> tuple[str, tuple[str, ...]]:
    search = searched(name, number, run)
    assert search.agreeing, search.nearest
    return search.agreeing[0].definition, search.agreeing[0].changes


def with_gold(judged: Ranked) -> list[str]:
    return [key for key, marks in judged.items() if any(marks.values())]


def test_scikit_learn_s_areas_and_losses(run: Run) -> None:
    label, prob = run.queries.label, run.queries.prob
    precision, recall, _ = metrics.precision_recall_curve(label, prob)
    assert first("AUROC", metrics.roc_auc_score(label, prob), run) == ("AUROC", ())
    assert first("AUPRC", metrics.average_precision_score(label, prob), run) == ("AUPRC", ())
    assert first("Brier", metrics.brier_score_loss(label, prob), run) == ("Brier", ())
    definition, changes = first("AUPRC", metrics.auc(recall, precision), run)
    assert definition == "AUPRC"
    assert changes[0].startswith("trapezoids")


@pytest.mark.parametrize(
    ("average", "definition", "change"),
    [
        ("binary", "F1(t=0.5)", "prob >= 0.5"),
        ("macro", "F1", "prob >= 0.5"),
        ("micro", "F1", "prob >= 0.5"),
        ("samples", "F1(avg=post)", "the gate is prob >= 0.5"),
    ],
)
def test_scikit_learn_s_averages_of_f1(run: Run, average: str, definition: str, change: str) -> None:
    queries = run.queries
    assert queries.prob is not None
    label, yes = queries.label, queries.prob >= 0.5
    if average != "binary":
        shape = (-1, len(queries.criterion_ids))
        order = np.lexsort((queries.criterion, queries.post))
        label, yes = label[order].reshape(shape), yes[order].reshape(shape)
    name, changes = first("F1", metrics.f1_score(label, yes, average=average, zero_division=0), run)
    assert name.startswith(definition)
    assert any(change in words for words in changes)


def test_scikit_learn_s_ndcg_shares_the_ranks_of_equal_scores(run: Run, ranked: tuple[Ranked, Ranked]) -> None:
    scores, judged = ranked
    rows = [(list(judged[key].values()), list(scores[key].values())) for key in with_gold(judged)]
    each = [metrics.ndcg_score([gold], [score], k=10) if len(gold) > 1 else 1.0 for gold, score in rows]  # it wants two
    assert "as in scikit-learn" in " ".join(first("nDCG@10", float(np.mean(each)), run)[1])


@pytest.mark.parametrize(
    ("name", "theirs"),
    [("MAP@10", "map_cut_10"), ("nDCG@10", "ndcg_cut_10"), ("Precision@5", "P_5"), ("MRR", "recip_rank")],
)
def test_trec_eval_averages_over_all_queries_and_breaks_ties_by_id(
    run: Run, ranked: tuple[Ranked, Ranked], name: str, theirs: str
) -> None:
    scores, judged = ranked
    evaluator = pytrec_eval.RelevanceEvaluator(judged, {"map_cut.10", "ndcg_cut.10", "P.5", "recip_rank"})
    values = evaluator.evaluate(scores)
    over_all = float(np.mean([value[theirs] for value in values.values()]))
    positives = float(np.mean([values[key][theirs] for key in with_gold(judged)]))
    definition, changes = first(name, over_all, run)
    assert "pop=all" in definition
    assert any("trec_eval" in words for words in changes)
    assert "pop=all" not in first(name, positives, run)[0]


@pytest.mark.parametrize("everybody", [True, False])
def test_the_map_of_kaggle_divides_by_what_fits(run: Run, everybody: bool) -> None:
    frame = run.frame.select("gold_sent_uids", "ranked_sent_uids")

    def average(gold: list[str], ranking: list[str], k: int) -> float:
        hits, total = 0, 0.0
        for rank, uid in enumerate(ranking[:k], 1):
            if uid in gold:
                hits += 1
                total += hits / rank
        return total / min(len(gold), k) if gold else 0.0

    rows = [
        average(gold, ranking, 2)
        for gold, ranking in ((_list(gold), _list(ranking)) for gold, ranking in frame.iter_rows())
        if gold or everybody
    ]
    definition, _ = first("MAP@2", float(np.mean(rows)), run)
    assert definition == ("MAP(norm=min,pop=all)@2" if everybody else "MAP(norm=min)@2")


def _list(cell: str | list[str]) -> list[str]:
    return cell.split("|") if isinstance(cell, str) else list(cell)


@pytest.mark.parametrize(
    ("words", "definition", "change"),
    [
        ("one fold", "AUROC[fold=2]", "only fold 2"),
        ("the mean over folds", "AUROC", "mean over the values of each fold"),
        ("the mean over criteria", "AUROC", "mean over the values of each criterion"),
    ],
)
def test_subsets_and_means_of_groups_are_named(run: Run, words: str, definition: str, change: str) -> None:
    queries = run.queries
    assert queries.fold is not None
    assert queries.prob is not None
    codes = {"one fold": queries.fold.codes, "the mean over folds": queries.fold.codes}.get(words, queries.criterion)
    each = [metrics.roc_auc_score(queries.label[codes == c], queries.prob[codes == c]) for c in np.unique(codes)]
    number = each[queries.fold.labels.index("2")] if words == "one fold" else float(np.mean(each))
    assert first("AUROC", number, run) == (definition, (change,))


def test_bins_and_other_errors_of_calibration(run: Run) -> None:
    label, prob = run.queries.label, run.queries.prob
    assert prob is not None
    place = np.minimum((prob * 15).astype(int), 14)
    gaps = [abs((prob - label)[place == b].sum()) for b in range(15)]
    assert first("ECE", sum(gaps) / len(prob), run)[0] == "ECE(bins=15)"
    place = np.minimum((prob * 10).astype(int), 9)
    largest = max(abs((prob - label)[place == b].mean()) for b in range(10) if (place == b).any())
    assert "MCE" in first("ECE", largest, run)[1][0]


def test_any_order_of_equal_scores_is_recognised_as_such() -> None:
    """One gold sentence among three equal scores: a tool without a rule may print any of 1, 1/2, 1/3."""
    pool = pl.DataFrame(
        {
            "post_id": "p1",
            "criterion_id": "A",
            "sent_uid": ["p1.a", "p1.b", "p1.c", "p1.d"],
            "score": [0.5, 0.5, 0.5, 0.1],
        }
    )
    run = run_of(query(gold="a", ranked="a b c d"), candidates=pool.with_columns(is_gold=pl.col("sent_uid") == "p1.a"))
    for number, definition, rule in ((1.0, "MRR", "as asked"), (1 / 3, "MRR", "trec_eval"), (0.5, "MRR", "some order")):
        name, changes = first("MRR", number, run)
        assert name == definition
        assert rule in " ".join(changes or ("as asked",))


def test_a_number_of_nothing_is_near_to_what_is_there_and_agrees_with_none(run: Run) -> None:
    search = searched("AUROC", 0.123456, run)
    assert not search.agreeing
    assert len(search.nearest) == 5
    gaps = [abs(reading.value - 0.123456) for reading in search.nearest]
    assert gaps == sorted(gaps)


def test_digits_decide_what_agrees() -> None:
    assert GivenNumber.read("0.63").agrees(0.6266)
    assert not GivenNumber.read("0.627").agrees(0.6262)
    assert GivenNumber.read("62.7%").agrees(0.6266)
    assert GivenNumber.read("0.6266371011734009").agrees(0.62663712)  # added up in single precision
    with pytest.raises(InputError, match="is not a number"):
        GivenNumber.read("high")


def test_the_command_names_the_definition_and_takes_a_result_too(folder: Path, run: Run, tmp_path: Path) -> None:
    number = metrics.f1_score(run.queries.label, run.queries.prob >= 0.5)  # type: ignore[operator]
    table, pool = folder / "per_query.csv", folder / "candidates.csv"
    told = evidentia("explain", "F1", table, "--candidates", pool, "--value", f"{number:.5f}")
    assert told.code == 0
    assert told.out.startswith("F1(t=gate) is ")
    assert "F1(t=0.5)" in told.out.split("Agree, smallest change first")[1].splitlines()[1]
    evidentia("evaluate", table, "--candidates", pool, "--measures", "F1", "--no-report", "-q", "-o", tmp_path / "out")
    again = evidentia("explain", "F1", tmp_path / "out", "--value", f"{number:.5f}")
    assert "F1(t=0.5)" in again.out.split("Agree, smallest change first")[1].splitlines()[1]


def test_trec_files_are_tried_with_both_rules_for_ties(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1\nq 0 b 0\n")
    (tmp_path / "run").write_text("q Q0 a 1 0.5 x\nq Q0 b 2 0.5 x\n")
    told = evidentia("explain", "MRR", "--qrels", tmp_path / "qrels", "--run", tmp_path / "run", "--value", "0.5")
    assert "trec_eval" in told.out.split("Agree")[1]


@pytest.mark.parametrize("words", [("MAP@10", "--value", "0.5"), ("MAP@10", "RUN", "--value", "high")])
def test_what_cannot_be_searched_is_refused(folder: Path, words: tuple[str, ...]) -> None:
    told = evidentia("explain", *(folder / "per_query.csv" if word == "RUN" else word for word in words))
    assert told.code == 2
    assert "--value" in told.err


def test_a_bare_name_is_read_at_the_gate_and_older_names_keep_their_meaning(folder: Path, tmp_path: Path) -> None:
    for name in ("F1", "MCC", "Sensitivity", "Precision"):
        assert resolve(name, CONTRACT).definition.name(CONTRACT) == f"{name}(t=gate)"
    assert resolve("F1(avg=criterion)", CONTRACT).definition.measure.family == "multi-label"
    with pytest.raises(UnknownNameError, match="one definition"):
        resolve("F1(avg=pooled)", CONTRACT)
    evidentia("evaluate", folder / "per_query.csv", "--measures", "F1", "--no-report", "-q", "-o", tmp_path / "out")
    assert "F1(t=gate)" in json.loads((tmp_path / "out/summary.json").read_text())["measures"]


def _ranx(scores: Ranked, judged: Ranked) -> float:
    ranx = pytest.importorskip("ranx", reason="ranx is not installed: pip install ranx")
    keys = with_gold(judged)
    found = ranx.evaluate(ranx.Qrels({k: judged[k] for k in keys}), ranx.Run({k: scores[k] for k in keys}), "map@10")
    return float(found)


def _torchmetrics(scores: Ranked, judged: Ranked) -> float:
    retrieval = pytest.importorskip(
        "torchmetrics.retrieval", reason="torchmetrics is not installed: pip install torchmetrics"
    )
    torch = pytest.importorskip("torch")
    index = torch.tensor([at for at, key in enumerate(scores) for _ in scores[key]])
    flat = [torch.tensor([float(v) for key in scores for v in table[key].values()]) for table in (scores, judged)]
    return float(retrieval.RetrievalMAP(top_k=2)(flat[0], flat[1].long(), indexes=index))


def _ir_measures(scores: Ranked, judged: Ranked) -> float:
    tool = pytest.importorskip("ir_measures", reason="ir_measures is not installed: pip install ir-measures")
    relevant = {k: {d: m for d, m in judged[k].items() if m} for k in with_gold(judged)}
    return float(tool.calc_aggregate([tool.R @ 5], relevant, scores)[tool.R @ 5])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), [("MAP@10", _ranx), ("MAP@2", _torchmetrics), ("Recall@5", _ir_measures)])
def test_numbers_of_tools_that_are_not_always_installed(
    run: Run, ranked: tuple[Ranked, Ranked], name: str, number: Callable[[Ranked, Ranked], float]
) -> None:
    assert first(name, number(*ranked), run)


def test_a_convention_is_called_one(tmp_path: Path) -> None:
    table = tmp_path / "run.csv"
    table.write_text("post_id,criterion_id,has_evidence,prob\np1,A,0,0.4\np2,A,0,0.6\n")
    told = evidentia("explain", "AUROC", table, "--value", "0.5")
    assert told.out.startswith("AUROC is 0.5 (no queries with evidence)")
    assert "a convention, not a measurement: no queries with evidence" in told.out


def test_a_group_that_is_not_there_is_refused(folder: Path) -> None:
    told = evidentia("explain", "AUROC[criterion=nope]", folder / "per_query.csv", "--value", "0.5")
    assert told.code == 2
    assert "no group" in told.err


@pytest.mark.parametrize("number", ["1e1000000", "1e400", "nan", "0." + "1" * 60])
def test_a_number_that_nobody_prints_is_refused(number: str) -> None:
    with pytest.raises(InputError, match="is not a number"):
        GivenNumber.read(number)


def test_a_value_above_1_is_read_as_per_cent_and_rows_count_in_words(folder: Path, run: Run) -> None:
    number = 100 * metrics.roc_auc_score(run.queries.label, run.queries.prob)
    told = evidentia("explain", "AUROC", folder / "per_query.csv", "--value", f"{number:.3f}")
    assert f"{number:.3f}% was given" in told.out
    assert "as it was asked" in told.out
    assert f"(n = {len(run.queries):,})" in told.out


def test_formulas_of_other_tools_are_pooled_and_not_offered_for_a_mean_over_criteria(run: Run) -> None:
    search = searched("AUPRC(avg=criterion)", 0.5, run)
    assert not [r for r in (*search.agreeing, *search.nearest) if "trapezoids" in " ".join(r.changes)]


def test_options_of_reading_are_refused_beside_a_result(folder: Path, tmp_path: Path) -> None:
    evidentia("evaluate", folder / "per_query.csv", "--measures", "AUROC", "--no-report", "-q", "-o", tmp_path / "out")
    told = evidentia("explain", "AUROC", tmp_path / "out", "--map", "prob=p", "--value", "0.5")
    assert told.code == 2
    assert "Leave out" in told.err
