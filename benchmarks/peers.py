"""The other side: the same measures under the names that pytrec_eval, ir_measures and ranx give them, on the same run."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytrec_eval

from evidentia.array_types import Floats
from evidentia.tables.queries import Candidates
from measuring import DisagreementError

KS = (1, 3, 5, 10, 20)
ALLOWED = 1e-12
ALLOWED_MEANS = 1e-9


@dataclass(frozen=True)
class Named:
    """One measure and what each tool calls it."""

    ours: str
    trec: str
    ir: str
    ranx: str

    @property
    def over_all(self) -> str:
        """Our name for its mean over all queries, which is what the others print."""
        base, at, k = self.ours.partition("@")
        return f"{base}(pop=all){at}{k}"


_CUT = {
    "Recall": ("recall", "R", "recall"),
    "Precision": ("P", "P", "precision"),
    "HitRate": ("success", "Success", "hit_rate"),
    "MAP": ("map_cut", "AP", "map"),
    "nDCG": ("ndcg_cut", "nDCG", "ndcg"),
}
MEASURES = (
    *(
        Named(f"{ours}@{k}", f"{trec}_{k}", f"{ir}@{k}", f"{ranx}@{k}")
        for ours, (trec, ir, ranx) in _CUT.items()
        for k in KS
    ),
    Named("MRR", "recip_rank", "RR", "mrr"),
)

Scored = dict[str, dict[str, float]]
Judged = dict[str, dict[str, int]]


def as_dicts(candidates: Candidates) -> tuple[Scored, Judged]:
    """The run and its judgements as the peers take them: query -> document -> score, and -> relevance."""
    bounds, scores = candidates.offsets.tolist(), candidates.score.tolist()
    gold = candidates.is_gold.astype(int).tolist()
    documents = [f"s{i}" for i in range(int(np.diff(candidates.offsets).max()))]
    run: Scored = {}
    qrels: Judged = {}
    for query, (start, stop) in enumerate(pairwise(bounds)):
        run[f"q{query}"] = dict(zip(documents, scores[start:stop], strict=False))
        qrels[f"q{query}"] = dict(zip(documents, gold[start:stop], strict=False))
    return run, qrels


def pytrec(run: Scored, qrels: Judged) -> Callable[[], Scored]:
    """An evaluation that only has to be started: the evaluator is built here."""
    depths = ",".join(map(str, KS))
    wanted = {*(f"{trec}.{depths}" for trec, _, _ in _CUT.values()), "recip_rank"}
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, wanted)
    return lambda: evaluator.evaluate(run)


def largest_difference(ours: dict[str, Floats], theirs: Scored) -> float:
    """The largest difference between the two over all queries and measures; refuses if it is more than rounding."""
    queries = len(ours["MRR"])
    if len(theirs) != queries:
        raise DisagreementError(f"pytrec_eval answered {len(theirs):,} of {queries:,} queries")
    largest = 0.0
    for named in MEASURES:
        other = np.array([theirs[f"q{query}"][named.trec] for query in range(queries)])
        apart = np.abs(ours[named.ours] - other)
        if not apart.max() <= ALLOWED:
            raise DisagreementError(
                f"{named.ours}: {np.count_nonzero(~(apart <= ALLOWED)):,} of {queries:,} queries differ by up to {apart.max():.2g}"
            )
        largest = max(largest, float(apart.max()))
    return largest


def has_ranx() -> bool:
    """Whether ranx is installed; it is optional because it brings a compiler."""
    return importlib.util.find_spec("ranx") is not None


def ranx(run: Scored, qrels: Judged, ours: dict[str, Floats]) -> tuple[str, Callable[[], object] | None]:
    """A note on ranx's first call, which compiles, and an evaluation that only has to be started; None if it disagrees."""
    from ranx import Qrels, Run, evaluate

    names = [named.ranx for named in MEASURES]
    judged, scored = Qrels(qrels), Run(run)

    def again() -> dict[str, Floats]:
        values: dict[str, Floats] = evaluate(judged, scored, names, return_mean=False, save_results_in_run=False)
        return values

    started = time.perf_counter()
    theirs = again()
    note = f"the first call of ranx, which compiles, took {time.perf_counter() - started:.1f} s"
    # means only: ranx puts queries into an order of its own
    apart = max(abs(float(ours[named.ours].mean() - theirs[named.ranx].mean())) for named in MEASURES)
    if apart <= ALLOWED_MEANS:
        return note, again
    return f"{note}; it is left out, since its means differ by up to {apart:.2g}", None
