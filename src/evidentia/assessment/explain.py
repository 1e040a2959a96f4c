"""Why an item has its score, and where texts speak of self-harm; places and hashes, words only on request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evidentia.assessment.interviews import Interview
from evidentia.assessment.language import pattern, plain
from evidentia.assessment.run import read_run_file, results_of_mode
from evidentia.errors import InputError, typed


def explain_item(
    path: Path, participant: str, item: str, *, mode: str | None = None, interviews: Sequence[Interview] = ()
) -> Iterator[str]:
    """The lines that explain one score."""
    result = _result(read_run_file(path), path.name, participant, mode)
    if not result["success"]:
        yield f"participant {participant}: failed ({result['error']})"
        return
    if item not in result["predicted_items"]:
        raise InputError(f"There is no item {typed(item)}. Items are {', '.join(result['predicted_items'])}.")
    score, evidence = result["predicted_items"][item], result.get("item_evidence", {}).get(item, {})
    yield f"participant {participant}, {item}: {'abstained' if score is None else score}"
    yield f"reason: {evidence.get('reason') or 'none is recorded'}"
    for name, value in result.get("item_signals", {}).get(item, {}).items():
        yield f"{name}: {value}"
    by_id = {interview.participant_id: interview for interview in interviews}
    for quote in evidence.get("quotes", ()):
        line = f"turn {quote['turn']}, characters {quote['start']} to {quote['end']} ({quote['finder']})"
        yield line + _words(quote, by_id.get(participant))


def _words(quote: dict[str, Any], interview: Interview | None) -> str:
    if interview is None:
        return ""
    text = (
        interview.turns[quote["turn"]].text[quote["start"] : quote["end"]]
        if quote["turn"] < len(interview.turns)
        else ""
    )
    if hashlib.sha256(text.encode()).hexdigest() != quote["sha256"]:
        raise InputError("The interviews are not those of the run: a quote has other words there.")
    return f": {text}"


def _result(document: dict[str, Any], name: str, participant: str, mode: str | None) -> dict[str, Any]:
    for result in results_of_mode(document, name, mode):
        if str(result["participant_id"]) == participant:
            return dict(result)
    raise InputError(f"{name} has no participant {typed(participant)}.")


def risk_places(interviews: Sequence[Interview]) -> Iterator[str]:
    """Where participants use language about self-harm."""
    for interview in interviews:
        for place, turn in interview.answers:
            for match in pattern("self_harm").finditer(plain(turn.text)):
                yield f"participant {interview.participant_id}: turn {place}, characters {match.start()} to {match.end()}"
