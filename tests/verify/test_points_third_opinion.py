"""Where the field's libraries define the same thing they agree with the reference implementation."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidentia.measures import PROFILES, resolve
from evidentia.verify.folder import ResultFolder
from evidentia.verify.plan import Planner
from evidentia.verify.study import Study, read_study

from .made import result

__all__ = ["result"]


@pytest.fixture
def study(result: Path) -> Study:
    return read_study(ResultFolder(result))


def ours(study: Study, name: str) -> float:
    return Planner(study).number(resolve(name, PROFILES["contract"]).definition, ()).value


def test_scikit_learn(study: Study) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    labels, probs = [q.label for q in study.queries], [q.prob for q in study.queries]
    said = [q.gate for q in study.queries]
    assert ours(study, "AUROC") == pytest.approx(metrics.roc_auc_score(labels, probs), abs=1e-12)
    assert ours(study, "AUPRC") == pytest.approx(metrics.average_precision_score(labels, probs), abs=1e-12)
    assert ours(study, "Brier") == pytest.approx(metrics.brier_score_loss(labels, probs), abs=1e-12)
    assert ours(study, "LogLoss") == pytest.approx(metrics.log_loss(labels, probs), abs=1e-9)
    assert ours(study, "MCC(t=gate)") == pytest.approx(metrics.matthews_corrcoef(labels, said), abs=1e-12)
    assert ours(study, "F1(t=gate)") == pytest.approx(metrics.f1_score(labels, said), abs=1e-12)
    pairs = [(c.node_prob, c.gold) for q in study.queries for c in q.candidates or ()]
    area = metrics.roc_auc_score([gold for _, gold in pairs], [score for score, _ in pairs])
    assert ours(study, "AUROC(level=candidate)") == pytest.approx(area, abs=1e-12)


def test_trec_eval(study: Study) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    positives = {str(i): q for i, q in enumerate(study.queries) if q.label}
    qrels = {topic: dict.fromkeys(q.gold or (), 1) for topic, q in positives.items()}
    run = {t: {uid: -float(rank) for rank, uid in enumerate(q.ranked or ())} for t, q in positives.items()}
    asked = {"map_cut.5,10", "ndcg_cut.5,10", "recall.5,10", "P.5,10", "recip_rank", "success.5,10"}
    found = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run)
    names = {"map_cut": "MAP", "ndcg_cut": "nDCG", "recall": "Recall", "P": "Precision", "success": "HitRate"}
    wanted = {f"{their}_{k}": f"{mine}@{k}" for their, mine in names.items() for k in (5, 10)} | {"recip_rank": "MRR"}
    for their, mine in wanted.items():
        mean = sum(values[their] for values in found.values()) / len(found)
        assert ours(study, mine) == pytest.approx(mean, abs=1e-9), mine
