"""Assess interviews one by one and write the run file that `evidentia selective` judges."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from typing import Any

from evidentia.assessment.answers import ItemAnswer, Scorer, ScorerError
from evidentia.assessment.instrument import Instrument, load_instrument
from evidentia.assessment.interviews import Interview, read_interviews
from evidentia.assessment.journal import Journal
from evidentia.errors import EvidentiaError, InputError, OutputError, ServerError, place_of, shown, typed
from evidentia.results.folder import replace_file
from evidentia.results.strict_json import dumps_by_line, loads

Truth = Mapping[str, Mapping[str, int]]
Progress = Callable[[int, int], None]
SCHEMA = "evidentia.assess/1"
NOTICE = "Research software, not a medical device: scores are about texts, never a diagnosis."


def assess_one(
    scorer: Scorer, interview: Interview, instrument: Instrument, truth: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """One participant's result as a run file holds it; a failure is a result too, with its category."""
    try:
        answers = scorer.assess(interview)
        _refuse_wrong(answers, instrument)
    except (ScorerError, ServerError) as error:
        category = error.category if isinstance(error, ScorerError) else "server"
        return {"participant_id": interview.participant_id, "success": False, "error": category}
    except (KeyboardInterrupt, EvidentiaError):
        raise
    except Exception as error:  # one participant's failure never stops a run; its words may hold a text
        where = f"internal: {place_of(error)}"
        return {"participant_id": interview.participant_id, "success": False, "error": where}
    ordered = {own: answers[own] for own in instrument.item_ids}
    result: dict[str, Any] = {"participant_id": interview.participant_id, "success": True}
    result["predicted_items"] = {own: answer.score for own, answer in ordered.items()}
    if truth is not None:
        result["ground_truth_items"] = {own: truth[own] for own in instrument.item_ids}
    result["item_signals"] = {own: answer.item_signals() for own, answer in ordered.items()}
    result["item_evidence"] = {
        own: {"reason": answer.reason, "quotes": [quote.to_dict() for quote in answer.quotes]}
        for own, answer in ordered.items()
    }
    return result


def _refuse_wrong(answers: Mapping[str, ItemAnswer], instrument: Instrument) -> None:
    missing = [own for own in instrument.item_ids if own not in answers]
    if missing or len(answers) > len(instrument.items):
        raise ScorerError("items", f"{len(missing)} missing")
    for item in instrument.items:
        score = answers[item.id].score
        if score is not None and not item.takes(score):
            raise ScorerError("score out of range", f"item {item.id}")


def assess_all(
    interviews: Sequence[Interview],
    instrument: Instrument,
    scorer: Scorer,
    *,
    truth: Truth | None = None,
    done: Mapping[str, dict[str, Any]] | None = None,
    keep: Callable[[Mapping[str, Any]], None] | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """The result of every interview, in their order; ``done`` are those of an earlier start, ``keep`` stores a new one."""
    results = dict(done or {})
    waiting = [interview for interview in interviews if interview.participant_id not in results]

    def work(interview: Interview) -> dict[str, Any]:
        own = None if truth is None else truth[interview.participant_id]
        result = assess_one(scorer, interview, instrument, own)
        if keep is not None:
            keep(result)
        return result

    for count, result in enumerate(_in_order_of_arrival(work, waiting, jobs), len(results) + 1):
        results[str(result["participant_id"])] = result
        if progress is not None:
            progress(count, len(interviews))
    return [results[interview.participant_id] for interview in interviews]


def _in_order_of_arrival(
    work: Callable[[Interview], dict[str, Any]], interviews: Sequence[Interview], jobs: int
) -> Iterable[dict[str, Any]]:
    if jobs <= 1:
        yield from map(work, interviews)
        return
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(work, interview) for interview in interviews]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


def assess(
    interviews: Sequence[Interview] | Path | str,
    *,
    scorer: Scorer | None = None,
    instrument: Instrument | str = "phq8",
    truth: Truth | None = None,
) -> list[dict[str, Any]]:
    """Score the items of interviews in memory; nothing is written.

    Parameters
    ----------
    interviews : sequence of Interview, or path
        The interviews, or a folder or table that ``read_interviews`` reads.
    scorer : Scorer, default=None
        Any object with ``assess`` and ``provenance``; None takes rules.
    instrument : Instrument, path or {"phq8", "gad7"}, default="phq8"
        The questionnaire: an object, a TOML file, or one that ships.
    truth : mapping of str to mapping of str to int, default=None
        True item scores by participant and item.

    Returns
    -------
    list of dict, length n_interviews
        One result per participant, in their order: ``predicted_items``, ``item_signals`` and ``item_evidence``, and
        ``ground_truth_items`` with ``truth``.

    Raises
    ------
    InputError
        If interviews or instrument cannot be read.

    Notes
    -----
    An abstained item is None. A participant who could not be assessed has ``success`` False and the category of the failure in
    ``error``. Scores are about texts, never a diagnosis.

    Examples
    --------
    >>> from evidentia.assessment import Interview, Turn
    >>> interview = Interview("1", (Turn("I can't sleep nearly every night.", True),))
    >>> assess([interview])[0]["predicted_items"]["Sleep"]
    3
    """
    from evidentia.assessment.rules import RulesScorer

    chosen = instrument if isinstance(instrument, Instrument) else load_instrument(instrument)
    read = read_interviews(Path(interviews)) if isinstance(interviews, str | Path) else interviews
    return assess_all(read, chosen, RulesScorer(chosen) if scorer is None else scorer, truth=truth)


def key_of_run(
    interviews: Sequence[Interview], instrument: Instrument, provenance: Mapping[str, Any], truth: Truth | None
) -> str:
    """A hash of everything that decides the results."""
    content = {
        "interviews": [[i.participant_id, [[t.text, t.is_participant] for t in i.turns]] for i in interviews],
        "instrument": instrument.to_dict(),
        "provenance": dict(provenance),
        "truth": None if truth is None else {own: dict(scores) for own, scores in sorted(truth.items())},
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def run_file(
    interviews: Sequence[Interview],
    instrument: Instrument,
    scorer: Scorer,
    out: Path,
    *,
    mode: str,
    truth: Truth | None = None,
    resume: bool = False,
    force: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Assess every interview and write the run file; several modes may live in one file.

    Every result is on the disk before the next: after a crash, ``resume`` asks for the missing ones only.
    """
    document = _document(out, instrument, mode, force=force)
    provenance = scorer.provenance()
    key = key_of_run(interviews, instrument, {**provenance, "mode": mode}, truth)
    journal = Journal(out, key)
    started = time.monotonic()
    done = journal.open(resume=resume)
    results = assess_all(
        interviews, instrument, scorer, truth=truth, done=done, keep=journal.add, jobs=jobs, progress=progress
    )
    experiment = {
        "provenance": {
            "mode": mode,
            **provenance,
            **_usage(scorer),
            "evidentia": version("evidentia"),
            "inputs_sha256": key,
            "seconds": round(time.monotonic() - started, 3),
            "resumed": len(done),
        },
        "results": {"mode": mode, "results": results},
    }
    document["experiments"] = [e for e in document["experiments"] if _mode_of(e) != mode] + [experiment]
    write_run(out, document)
    journal.close()
    return document


def _usage(scorer: Scorer) -> Mapping[str, Any]:
    """What a scorer spent, where it counts."""
    usage = getattr(scorer, "usage", None)
    return {} if usage is None else {"usage": dict(usage())}


def _mode_of(experiment: Mapping[str, Any]) -> object:
    results = experiment.get("results")
    return results.get("mode") if isinstance(results, Mapping) else None


def _document(out: Path, instrument: Instrument, mode: str, *, force: bool) -> dict[str, Any]:
    """The file to add this run to, or a new one; another instrument, or the same mode, is refused."""
    if not out.exists():
        if not out.resolve().parent.is_dir():
            raise OutputError(f"{out.name}: its folder does not exist. Make it, or choose another file with -o.")
        metadata = {"schema": SCHEMA, "run_id": out.stem, "notice": NOTICE, "instrument": instrument.to_dict()}
        return {"run_metadata": metadata, "experiments": []}
    document = read_run_file(out)
    if document["run_metadata"].get("instrument") != instrument.to_dict():
        raise OutputError(f"{out.name} is a run of another instrument. Choose another file with -o.")
    if mode in map(_mode_of, document["experiments"]) and not force:
        raise OutputError(
            f"{out.name} has a run of the mode {shown(mode)}. Name another --mode, or replace that one with --force."
        )
    return document


def read_run_file(path: Path) -> dict[str, Any]:
    """A run file of ours, as far as adding to it and explaining it need."""
    try:
        document = loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name}: not a run file of `evidentia assess` ({type(error).__name__}).") from None
    metadata = document.get("run_metadata") if isinstance(document, dict) else None
    if not isinstance(metadata, dict) or not isinstance(document.get("experiments"), list):
        raise InputError(f"{path.name}: not a run file of `evidentia assess`.")
    return dict(document)


def results_of_mode(document: Mapping[str, Any], name: str, mode: str | None) -> list[dict[str, Any]]:
    """The results of one mode of a run file; without a name, of its only mode."""
    by_mode = {str(_mode_of(e)): e["results"]["results"] for e in document["experiments"] if _mode_of(e) is not None}
    if mode is None and len(by_mode) == 1:
        mode = next(iter(by_mode))
    listed = ", ".join(map(shown, by_mode)) or "none"
    if mode is None:
        raise InputError(f"{name} has the modes {listed}. Name one with --mode.")
    if mode not in by_mode:
        raise InputError(f"{name} has no mode {typed(mode)}; it has {listed}.")
    return list(by_mode[mode])


def write_run(out: Path, document: Mapping[str, Any]) -> None:
    """Write the run file, whole or not at all; it is about people, so only its owner may read it."""
    text = dumps_by_line(dict(document), ())
    try:
        replace_file(out, text.encode())
        out.chmod(0o600)
    except OSError as error:
        raise OutputError(
            f"Writing {out.name} failed: {error.strerror}. The journal keeps the results; go on with --resume."
        ) from None


class FixedAnswers:
    """A scorer whose answers are there already, as those of a cross-validation are."""

    def __init__(self, answers: Mapping[str, Mapping[str, ItemAnswer]], provenance: Mapping[str, Any]) -> None:
        self.answers, self._provenance = answers, provenance

    def assess(self, interview: Interview) -> Mapping[str, ItemAnswer]:
        """The answers of this participant."""
        return self.answers[interview.participant_id]

    def provenance(self) -> Mapping[str, Any]:
        """Where they come from."""
        return self._provenance


def quote_rows(document: Mapping[str, Any], mode: str, interviews: Iterable[Interview]) -> list[dict[str, Any]]:
    """The words of every quote of a run, for the file that was asked for."""
    by_id = {interview.participant_id: interview for interview in interviews}
    rows = []
    for result in results_of_mode(document, "the run", mode):
        interview = by_id[str(result["participant_id"])]
        for item, evidence in result.get("item_evidence", {}).items():
            for quote in evidence["quotes"]:
                words = interview.turns[quote["turn"]].text[quote["start"] : quote["end"]]
                rows.append({"participant_id": interview.participant_id, "item": item, **quote, "text": words})
    return rows
