"""A served language model as the scorer: texts with a PHQ-9 total, and invented PHQ-8 interviews, zero-shot and few-shot.

Needs an OpenAI-compatible endpoint that gives log-probabilities (llama.cpp, vLLM, ...). Few-shot takes the quotes of zero-shot, so
that the two differ in their scores only; its references are other people than those who are assessed. The signal that ranks best
is chosen on one half of the participants and judged on the other. `--feature` is another measurement: everybody in the table is
assessed zero-shot, and the model's expectation becomes a feature of the learned scorer. An interrupted run goes on where it
was; what is in the folder of run files is not asked again, so give a changed prompt another folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import record
from assessment import CORPORA, learned, paired
from evidentia.array_types import Floats
from evidentia.assessment.chat import ChatEndpoint
from evidentia.assessment.evidence_of_run import EvidenceOfRun
from evidentia.assessment.instrument import Instrument, load_instrument
from evidentia.assessment.interviews import Interview, check_inputs
from evidentia.assessment.llm import LlmScorer, LlmSettings
from evidentia.assessment.model_files import llm_expectations
from evidentia.assessment.references import References
from evidentia.assessment.run import Truth, read_run_file, results_of_mode, run_file
from evidentia.assessment.synth import synthetic_interviews
from evidentia.evaluation.evaluate import evaluate_items
from evidentia.evaluation.intervals import Resampling
from evidentia.pipeline.encoders.wire import ServerSettings
from evidentia.results import Estimate
from evidentia.tables import read_items
from measuring import show, versions

SEED, RESAMPLES, SHOTS = 7, 2_000, 4
PACKAGES = ("evidentia", "numpy", "scipy", "scikit-learn")
SIGNALS = ("token_msp", "token_pe", "token_answered", "llm_evidence_count", "keyword_evidence_count")
MODES = ("zero_shot", "few_shot")


@dataclass(frozen=True, eq=False)
class Study:
    """People to assess, their scores, and labelled others to show as examples."""

    title: str
    instrument: Instrument
    people: Sequence[Interview]
    others: Sequence[Interview]
    truth: Truth
    file: Path


def texts_study(path: Path, people: int, folder: Path) -> Study:
    """People of the table of texts on depression; the others are references."""
    corpus = CORPORA["depression"]
    plain = corpus.instrument()
    item = replace(plain.items[0], question="Feeling down, depressed or hopeless over the last two weeks, all in all")
    instrument = replace(plain, items=(item,))
    interviews, truth = check_inputs(path, instrument, path)
    assert truth is not None
    order = np.random.default_rng(SEED).permutation(len(interviews))
    chosen, others = ([interviews[place] for place in part] for part in (order[:people], order[people:]))
    return Study(f"{people} people, PHQ-9 total", instrument, chosen, others, truth, folder / "texts.json")


def interviews_study(people: int, folder: Path) -> Study:
    """Invented interviews of bank b; references are of bank a."""
    new, known = (synthetic_interviews(count, seed=SEED, bank=bank) for count, bank in ((people, "b"), (100, "a")))
    others = [replace(interview, participant_id=f"a{interview.participant_id}") for interview in known.interviews]
    truth = {**new.truth, **{f"a{name}": scores for name, scores in known.truth.items()}}
    title = f"{people} invented interviews, PHQ-8"
    return Study(title, load_instrument("phq8"), new.interviews, others, truth, folder / "interviews.json")


def assess(study: Study, mode: str, endpoint: ChatEndpoint) -> Mapping[str, Any]:
    """One mode of the run file; what an earlier start has assessed is taken from there."""
    kept = read_run_file(study.file) if study.file.exists() else {"experiments": []}
    if mode in {experiment["results"]["mode"] for experiment in kept["experiments"]}:
        return kept
    few = mode == "few_shot"
    scorer = LlmScorer(
        study.instrument,
        endpoint,
        LlmSettings(shots=SHOTS if few else 0, seed=SEED),
        References(study.others, study.truth, study.instrument) if few else None,
        EvidenceOfRun.read(study.file, "zero_shot") if few else None,
    )
    truth = {interview.participant_id: study.truth[interview.participant_id] for interview in study.people}
    return run_file(study.people, study.instrument, scorer, study.file, mode=mode, truth=truth, resume=True, jobs=2)


def answers(results: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """One row per item of every participant who was assessed, with all signals."""
    rows = [
        {
            "cluster_id": result["participant_id"],
            "item": item,
            "pred": score,
            "gt": result["ground_truth_items"][item],
            **{name: float(result["item_signals"][item].get(name) or 0.0) for name in SIGNALS},
            "expectation": result["item_signals"][item].get("expectation"),
        }
        for result in results
        if result["success"]
        for item, score in result["predicted_items"].items()
    ]
    return pl.DataFrame(rows, schema_overrides={"pred": pl.Int64, "expectation": pl.Float64}, infer_schema_length=None)


def aurc(frame: pl.DataFrame, confidence: Floats, largest: int, resamples: int = 0) -> Estimate:
    """The area under the risk-coverage curve, by our own evaluation."""
    items = read_items(frame.with_columns(confidence=pl.Series(confidence)), item_max=largest)
    return evaluate_items(items, measures=["AURC"], resampling=Resampling(resamples, SEED))["AURC"]


def outcome(study: Study, mode: str, document: Mapping[str, Any]) -> tuple[str, ...]:
    """What a mode answered, how well, and what it cost."""
    results = results_of_mode(document, study.file.name, mode)
    about = next(e["provenance"] for e in document["experiments"] if e["results"]["mode"] == mode)
    frame = answers(results)
    scored = frame.drop_nulls("pred")
    expected = frame.drop_nulls("expectation")
    error = (scored["pred"] - scored["gt"]).abs().mean()
    correlation = np.corrcoef(expected["expectation"], expected["gt"])[0, 1]
    dropped = sum(int(s.get("ungrounded_quotes") or 0) for r in results for s in r.get("item_signals", {}).values())
    usage = about["usage"]
    return (
        *(study.title, mode, str(sum(not result["success"] for result in results))),
        *(f"{len(scored)} of {len(frame)}", f"{error:.3f}", f"{correlation:.3f}", str(dropped)),
        *(f"{usage['calls']:,}", f"{usage['prompt_tokens'] + usage['completion_tokens']:,}", f"{about['seconds']:.0f}"),
    )


def ranking(study: Study, mode: str, document: Mapping[str, Any]) -> tuple[str, ...]:
    """The signal with the smallest area on one half of the participants, and its area on the other half."""
    frame = answers(results_of_mode(document, study.file.name, mode))
    names = frame["cluster_id"].unique(maintain_order=True).to_list()
    halves = [frame.filter(pl.col("cluster_id").is_in(part)) for part in (names[::2], names[1::2])]
    largest = max(item.high - item.low for item in study.instrument.items)
    chosen_on, judged_on = (
        {signal: aurc(half, half[signal].to_numpy(), largest, RESAMPLES) for signal in SIGNALS} for half in halves
    )
    best, hindsight = (min(SIGNALS, key=lambda signal: areas[signal].value) for areas in (chosen_on, judged_on))
    shuffled = np.random.default_rng(SEED).random((200, len(halves[1])))
    by_chance = np.mean([aurc(halves[1], order, largest).value for order in shuffled])
    limits = judged_on[best].ci
    return (
        *(study.title, mode, best, f"{chosen_on[best].value:.3f}"),
        *(f"{judged_on[best].value:.3f}", "" if limits is None else f"{limits[0]:.3f} to {limits[1]:.3f}"),
        *(f"{by_chance:.3f}", f"{hindsight} {judged_on[hindsight].value:.3f}"),
    )


def feature(path: Path, study: Study) -> None:
    """The learned scorer on everybody, without and with the zero-shot expectation."""
    corpus = CORPORA["depression"]
    instrument = corpus.instrument()
    expectations = llm_expectations(study.file, "zero_shot", instrument)
    interviews, scores = check_inputs(path, instrument, path)
    assert scores is not None
    truth = np.array([[scores[i.participant_id][item] for item in instrument.item_ids] for i in interviews])
    without, with_llm = (
        learned(interviews, scores, instrument, folds=corpus.folds, vectors=False, llm=llm)
        for llm in (None, expectations)
    )
    alone = np.array([expectations[i.participant_id][0] for i in interviews])
    difference, low, high = paired(without.losses(truth), with_llm.losses(truth))
    rows = [
        (name, f"{np.abs(predicted - truth[:, 0]).mean():.3f}", f"{np.corrcoef(predicted, truth[:, 0])[0, 1]:.3f}")
        for name, predicted in (
            ("expectation alone, zero-shot", alone),
            ("learned", without.scores[:, 0]),
            ("learned with the expectation", with_llm.scores[:, 0]),
        )
    ]
    show(
        "The expectation as a feature, PHQ-9 total",
        ("system", "MAE", "r"),
        rows,
        f"{len(interviews)} people, {corpus.folds} folds, everybody answered",
        f"with minus without in MAE, by participant: {difference:+.3f} [{low:+.3f}, {high:+.3f}]",
    )


def measure_modes(studies: Sequence[Study], endpoint: Callable[[], ChatEndpoint], model: str) -> None:
    """Both modes of every study: answers, costs, and which signal ranks best."""
    documents = {}
    for study in studies:
        for mode in MODES:
            documents[study, mode] = assess(study, mode, endpoint())
            print(*outcome(study, mode, documents[study, mode]), sep=" | ", flush=True)
    show(
        f"Answers of {model}",
        ("", "mode", "failed", "scored", "MAE", "r of expectation", "quotes dropped", "calls", "tokens", "seconds"),
        [outcome(study, mode, document) for (study, mode), document in documents.items()],
        f"few-shot shows {SHOTS} references and takes the quotes of zero-shot; its calls are for scores only",
    )
    show(
        "Which signal ranks best: chosen on one half of the participants, judged on the other",
        ("", "mode", "chosen", "AURC there", "AURC, other half", "interval", "random order", "best in hindsight"),
        [ranking(study, mode, document) for (study, mode), document in documents.items()],
        f"signals: {', '.join(SIGNALS)}",
    )


def main() -> None:
    """Ask the model, print the tables, and write them where that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--endpoint", required=True, metavar="URL", help="for example http://127.0.0.1:8089/v1")
    parser.add_argument("--model", required=True)
    parser.add_argument("--depression", required=True, type=Path, metavar="CSV")
    parser.add_argument("--people", type=int, default=60)
    parser.add_argument("--interviews", type=int, default=20)
    parser.add_argument(
        "--feature", action="store_true", help="only the expectation of everybody as a feature of `learned`"
    )
    parser.add_argument("--work", type=Path, default=Path("llm-runs"), help="folder of the run files")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    texts = texts_study(options.depression, options.people, options.work)

    def endpoint() -> ChatEndpoint:
        return ChatEndpoint(options.endpoint, options.model, ServerSettings(timeout=600.0))

    if options.feature:
        everybody = replace(
            texts, people=[*texts.people, *texts.others], others=(), file=options.work / "everybody.json"
        )
        assess(everybody, "zero_shot", endpoint())
        feature(options.depression, everybody)
    else:
        measure_modes((texts, interviews_study(options.interviews, options.work)), endpoint, options.model)
    if options.write:
        command = "python benchmarks/llm.py --endpoint URL --model MODEL --depression CSV"
        section, more = ("llm-feature", " --feature") if options.feature else ("llm", "")
        record.write(section, versions(*PACKAGES), how=f"{command}{more} --write")


if __name__ == "__main__":
    main()
