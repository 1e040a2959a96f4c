"""Numbers per item that a learned scorer reads beside the words: what is stated, how often, and how people say they feel."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import numpy as np

from evidentia.array_types import Floats
from evidentia.assessment.frequency import PERIOD
from evidentia.assessment.instrument import Instrument
from evidentia.assessment.interviews import Interview
from evidentia.assessment.language import plain
from evidentia.assessment.statements import Statement, StatementFinder

_WORD = re.compile(r"[a-z']+")
_NEGATIONS = frozenset(
    {
        "not",
        "no",
        "never",
        "don't",
        "dont",
        "didn't",
        "haven't",
        "havent",
        "isn't",
        "wasn't",
        "without",
        "hardly",
        "can't",
        "cannot",
        "nor",
        "neither",
        "hasn't",
        "doesn't",
        "won't",
    }
)
REACH = 4  # words behind a negation that it may turn around
STATEMENT_FEATURES = ("present", "absent", "others", "past", "days", "explicit", "hedged", "intense", "denied")


@lru_cache(maxsize=1)
def _lexicon() -> dict[str, frozenset[str]]:
    lists = tomllib.loads((files("evidentia.assessment") / "valence.toml").read_text(encoding="utf-8"))
    return {name: frozenset(words) for name, words in lists.items()}


def participant_text(interview: Interview) -> str:
    """Everything that the participant says."""
    return "\n".join(turn.text for _, turn in interview.answers)


def valence_features(text: str) -> Floats:
    """Shares of words that feel bad and good, turned around behind a negation, of strong and mild words, and the length.

    >>> valence_features("I am not sad")[:2].tolist()
    [0.0, 0.25]
    """
    words = _WORD.findall(plain(text))
    lexicon, counts, last = _lexicon(), dict.fromkeys(("negative", "positive", "severe", "mild"), 0.0), -REACH - 1
    for place, word in enumerate(words):
        if word in _NEGATIONS:
            last = place
        turned = place - last <= REACH and place != last
        if word in lexicon["negative"]:
            counts["positive" if turned else "negative"] += 1
        elif word in lexicon["positive"]:
            counts["negative" if turned else "positive"] += 1
        for name in ("severe", "mild"):
            counts[name] += word in lexicon[name]
    size = max(len(words), 1)
    balance = (counts["negative"] - counts["positive"]) / (counts["negative"] + counts["positive"] + 1)
    shares = [counts[name] / size for name in counts]
    return np.array([*shares, balance, np.log(size)])


def statement_features(statements: Sequence[Statement]) -> Floats:
    """Counts of an item's statements by kind, and the days that they stand for."""
    counted = [statement for statement in statements if statement.counts]
    present = [statement for statement in counted if statement.polarity == "present"]
    absent = len(counted) - len(present)
    days = [statement.days.middle for statement in present if statement.days is not None]
    return np.array(
        [
            min(len(present), 5.0),
            min(absent, 5.0),
            min(sum(not statement.about_self for statement in statements), 5.0),
            min(sum(not statement.now for statement in statements), 5.0),
            max(days, default=4.0 if present else 0.0) / PERIOD,
            float(any(s.days is not None and s.days.explicit for s in present)),
            float(any(statement.hedged for statement in present)),
            float(any(statement.intense for statement in present)),
            float(absent > 0 and not present),
        ]
    )


def item_features(interviews: Sequence[Interview], instrument: Instrument) -> Floats:
    """Features by participant and item (participants x items x features)."""
    finder = StatementFinder(instrument)
    stated = []
    for interview in interviews:
        statements = finder.statements(interview)
        common = valence_features(participant_text(interview))
        stated.append([np.concatenate([statement_features(statements[item.id]), common]) for item in instrument.items])
    return np.array(stated)
