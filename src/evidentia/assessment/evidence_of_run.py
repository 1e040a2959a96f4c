"""Evidence that an earlier mode of a run has: places and hashes, read back against the interviews."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evidentia.assessment.answers import Quote
from evidentia.assessment.interviews import Interview
from evidentia.assessment.run import read_run_file, results_of_mode
from evidentia.errors import InputError, shown


class EvidenceOfRun:
    """The quotes of every participant whom a mode assessed; those who failed there have none."""

    def __init__(self, mode: str, results: Sequence[Mapping[str, Any]]) -> None:
        self.mode = mode
        self._results = {str(result["participant_id"]): result for result in results if result.get("success")}

    @classmethod
    def read(cls, path: Path, mode: str) -> EvidenceOfRun:
        """The evidence of one mode of a run file."""
        return cls(mode, results_of_mode(read_run_file(path), path.name, mode))

    def quotes(self, interview: Interview) -> tuple[dict[str, tuple[Quote, ...]], Counter[str]] | None:
        """Quotes by item and how many were dropped; None for a participant without a result."""
        result = self._results.get(interview.participant_id)
        if result is None:
            return None
        try:
            evidence, signals = result["item_evidence"], result["item_signals"]
            quotes = {
                item: tuple(_quote(place, interview) for place in own["quotes"]) for item, own in evidence.items()
            }
            return quotes, Counter({item: int(own.get("ungrounded_quotes") or 0) for item, own in signals.items()})
        except (LookupError, TypeError, AttributeError):
            raise InputError(
                f"The mode {shown(self.mode)} keeps no quotes by place: take a mode that `evidentia assess run` wrote."
            ) from None


def _quote(place: Mapping[str, Any], interview: Interview) -> Quote:
    quote = Quote(**place)
    if quote.turn >= len(interview.turns) or quote != Quote.of(
        interview, quote.turn, quote.start, quote.end, quote.finder
    ):
        raise InputError("The interviews are not those of the run: a quote has other words there.")
    return quote
