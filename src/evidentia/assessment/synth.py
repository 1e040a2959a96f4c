"""Invented interviews with known item scores: the scores look like people's, and every sentence is our own."""

from __future__ import annotations

import csv
import io
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evidentia.assessment.instrument import load_instrument
from evidentia.assessment.interviews import Interview, Turn
from evidentia.errors import InputError, OutputError, counted
from evidentia.synth.files import write_files

Bank = Literal["a", "b"]
MOST = 100_000
# How often each score of the PHQ-8 occurs, and how the items go together: 403 people, `depression_anxiety_t1` of the R package
# BGGM (Forbes, Baillie and Schniering 2016). The correlations are those of a latent normal variable behind every item.
FREQUENCIES = (
    (0.427, 0.365, 0.141, 0.067),
    (0.370, 0.452, 0.102, 0.076),
    (0.278, 0.402, 0.191, 0.129),
    (0.186, 0.471, 0.189, 0.154),
    (0.397, 0.300, 0.203, 0.100),
    (0.429, 0.328, 0.141, 0.102),
    (0.526, 0.290, 0.127, 0.057),
    (0.752, 0.176, 0.052, 0.020),
)
CORRELATIONS = (
    (1.00, 0.81, 0.62, 0.69, 0.55, 0.70, 0.66, 0.62),
    (0.81, 1.00, 0.64, 0.66, 0.57, 0.77, 0.64, 0.65),
    (0.62, 0.64, 1.00, 0.76, 0.58, 0.57, 0.55, 0.50),
    (0.69, 0.66, 0.76, 1.00, 0.63, 0.57, 0.61, 0.53),
    (0.55, 0.57, 0.58, 0.63, 1.00, 0.59, 0.59, 0.54),
    (0.70, 0.77, 0.57, 0.57, 0.59, 1.00, 0.62, 0.60),
    (0.66, 0.64, 0.55, 0.61, 0.59, 0.62, 1.00, 0.63),
    (0.62, 0.65, 0.50, 0.53, 0.54, 0.60, 0.63, 1.00),
)


@dataclass(frozen=True)
class SpeechRates:
    """How often speech is not a plain statement of the score."""

    disagree: float = 0.12  # what is said is one score off the self-report
    silent: float = 0.12  # an item is never mentioned
    no_frequency: float = 0.15  # only that it is there, not how often
    hedged: float = 0.15
    others: float = 0.12
    past: float = 0.10
    joke: float = 0.15  # of an interview


@dataclass(frozen=True)
class SyntheticInterviews:
    """Interviews with the scores behind them, by participant and item."""

    interviews: tuple[Interview, ...]
    truth: dict[str, dict[str, int]]


@lru_cache(maxsize=1)
def _phrases() -> dict[str, Any]:
    return tomllib.loads((files("evidentia.assessment") / "phrases.toml").read_text(encoding="utf-8"))


def synthetic_interviews(
    participants: int = 200, *, seed: int = 7, bank: Bank = "a", rates: SpeechRates | None = None
) -> SyntheticInterviews:
    """Draw interviews about the PHQ-8; the same arguments give the same words.

    >>> drawn = synthetic_interviews(2)
    >>> [interview.participant_id for interview in drawn.interviews], sorted(drawn.truth["1"])[:2]
    (['1', '2'], ['Appetite', 'Concentrating'])
    """
    if not 1 <= participants <= MOST:
        raise InputError(f"The number of participants must lie between 1 and {MOST:,}.")
    if bank not in ("a", "b"):
        raise InputError("The bank of phrases is a or b.")
    rng = np.random.default_rng([seed, ord(bank)])
    scores = _scores(participants, rng)
    items = load_instrument("phq8").item_ids
    writer = _Writer(bank, rng, rates or SpeechRates())
    interviews, truth = [], {}
    for number, row in enumerate(scores, 1):
        own = dict(zip(items, row.tolist(), strict=True))
        interviews.append(Interview(str(number), tuple(writer.turns(own))))
        truth[str(number)] = own
    return SyntheticInterviews(tuple(interviews), truth)


def _scores(participants: int, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Item scores by a latent normal variable, cut where the frequencies say."""
    from scipy.special import ndtri

    latent = rng.standard_normal((participants, len(FREQUENCIES))) @ np.linalg.cholesky(np.array(CORRELATIONS)).T
    cuts = ndtri(np.cumsum(FREQUENCIES, axis=1)[:, :3])
    return np.stack([np.searchsorted(cuts[item], latent[:, item]) for item in range(len(FREQUENCIES))], axis=1)


class _Writer:
    """Writes the turns of one interview after the other."""

    def __init__(self, bank: Bank, rng: np.random.Generator, rates: SpeechRates) -> None:
        self.own, self.questions = _phrases()[bank], _phrases()["questions"]
        self.rng, self.rates = rng, rates

    def turns(self, scores: dict[str, int]) -> list[Turn]:
        """An opening, then the items in any order, each asked about or never mentioned."""
        turns = [Turn(self._pick(self.questions["opening"]), False), Turn(self._pick(self.own["filler"]), True)]
        for item in self.rng.permutation(list(scores)):
            if self.rng.random() < self.rates.silent:
                continue
            turns += [Turn(self._pick(self.questions[item]), False), Turn(self._answer(str(item), scores[item]), True)]
        if self.rng.random() < self.rates.joke:
            turns += [Turn("Anything else?", False), Turn(self._pick(self.own["joke"]), True)]
        return turns

    def _answer(self, item: str, score: int) -> str:
        said = self._spoken_score(score)
        parts = [self._absent(item) if said == 0 else self._present(item, said)]
        for kind in ("others", "past"):
            if self.rng.random() < getattr(self.rates, kind):
                parts.insert(int(self.rng.integers(len(parts) + 1)), self._pick(self.own[kind][item]))
        if self.rng.random() < 0.3:
            parts.append(self._pick(self.own["filler"]))
        return " ".join(parts)

    def _spoken_score(self, score: int) -> int:
        if self.rng.random() >= self.rates.disagree:
            return score
        return int(np.clip(score + (1 if self.rng.random() < 0.5 else -1), 0, 3))

    def _absent(self, item: str) -> str:
        return _sentence(self._pick(self.own["absent"][item]))

    def _present(self, item: str, score: int) -> str:
        frame, often = self._pick(self.own["present"][item]), self._pick(self.own["often"][str(score)])
        if self.rng.random() < self.rates.no_frequency:
            often = self._pick(self.own["intense"]) if score > 1 else ""
        text = " ".join(frame.format(often=often).split())
        if self.rng.random() < self.rates.hedged:
            text = f"{self._pick(self.own['hedge'])}, {text}"
        return _sentence(text)

    def _pick(self, choices: list[str]) -> str:
        return str(choices[int(self.rng.integers(len(choices)))])


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def write_interviews(drawn: SyntheticInterviews, folder: Path, *, force: bool = False) -> None:
    """Write one transcript per participant in the layout of DAIC-WOZ, and the truth beside the folder of transcripts."""
    contents = {f"transcripts/{interview.participant_id}.tsv": _tsv(interview) for interview in drawn.interviews}
    rows = [["participant_id", *next(iter(drawn.truth.values()))]]
    rows += [[own, *map(str, scores.values())] for own, scores in drawn.truth.items()]
    contents["truth.csv"] = _delimited(rows, ",")
    there = [name for name in contents if (folder / name).exists()]
    if there and not force:
        raise OutputError(
            f"{folder.name} holds {counted(len(there), 'file')} of these names. Replace them with --force."
        )
    (folder / "transcripts").mkdir(parents=True, exist_ok=True)
    write_files(folder, contents)


def _tsv(interview: Interview) -> bytes:
    rows = [["start_time", "stop_time", "speaker", "value"]]
    for place, turn in enumerate(interview.turns):
        rows.append(
            [f"{place * 5:.1f}", f"{place * 5 + 4:.1f}", "Participant" if turn.is_participant else "Ellie", turn.text]
        )
    return _delimited(rows, "\t")


def _delimited(rows: list[list[str]], delimiter: str) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return buffer.getvalue().encode()
