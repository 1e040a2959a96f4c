"""How often: words about frequency and duration, read as an interval of days within a period of fourteen."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

PERIOD = 14
_FROM_ONE = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen"
_WORDS = ("zero", *_FROM_ONE.split("|"))
_NUMBER = rf"(\d{{1,2}}|{_FROM_ONE})"
_UNIT = r"(?:days?|nights?|mornings?|evenings?|times|afternoons?)"
_UNITS = r"(?:days|nights|mornings|evenings|times|afternoons)"  # most of the day is no number of days
_WEEKLY = r"(?:a|per|each|every|in a|out of the|of the|this|last|during the|in the)\s+(?:last\s+|past\s+|whole\s+)?week"
_FORTNIGHT = r"(?:two|2|couple of) weeks|fortnight|(?:14|fourteen) days"


@dataclass(frozen=True)
class Days:
    """The fewest and most days of a period that words stand for; ``explicit`` where they name a number or a share of days."""

    low: float
    high: float
    explicit: bool

    @property
    def middle(self) -> float:
        """The middle of the interval."""
        return (self.low + self.high) / 2


Reading = Callable[[re.Match[str]], tuple[float, float]]


def _fixed(low: float, high: float) -> Reading:
    return lambda match: (low, high)


def _counts(match: re.Match[str]) -> list[float]:
    """The numbers that a pattern caught, in figures or in words."""
    caught = [word for word in match.groups() if word.isdigit() or word in _WORDS]
    return [float(word if word.isdigit() else _WORDS.index(word)) for word in caught]


def _counted(per_number: float) -> Reading:
    """Days as a number or a range of numbers says, each worth so many days of the period."""

    def read(match: re.Match[str]) -> tuple[float, float]:
        days = [min(per_number * number, PERIOD) for number in _counts(match)]
        return days[0], days[-1]

    return read


def _share(match: re.Match[str]) -> tuple[float, float]:
    number, whole = _counts(match)
    days = min(PERIOD * number / max(whole, 1.0), PERIOD)
    return days, days


def _duration(match: re.Match[str]) -> tuple[float, float]:
    days = _counts(match)[0] * (7 if match[2].startswith("week") else 1)
    return min(days, 12.0), min(days, PERIOD)


# the first pattern that fits at a place is read, so the longer ones come first
_EXPLICIT: tuple[tuple[str, Reading], ...] = (
    (
        rf"(?:nearly|almost|practically|virtually|pretty much|just about)\s+(?:every|each)\s+(?:single\s+)?{_UNIT}",
        _fixed(12, 13),
    ),
    (r"every (?:other|second) (?:day|night|morning)", _fixed(7, 7)),
    (r"every weekend|(?:on|at) (?:the )?weekends?", _fixed(4, 4)),
    (
        rf"(?:every|each)\s+(?:single\s+)?{_UNIT}|daily|nightly|day after day|night after night|day in,? day out|day and night",
        _fixed(14, 14),
    ),
    (rf"more than half (?:of )?(?:the|my) (?:{_UNITS}|time)", _fixed(8, 11)),
    (rf"(?:about |around |roughly )?half (?:of )?(?:the|my) (?:{_UNITS}|time)", _fixed(7, 7)),
    (rf"most (?:of the |of my )?{_UNITS}", _fixed(8, 12)),
    (rf"{_NUMBER}\s+(?:or|to|-)\s+{_NUMBER}\s+{_UNIT}\s+{_WEEKLY}", _counted(2)),
    (rf"{_NUMBER}\s+(?:{_UNIT}\s+)?(?:out )?of (?:the |every )?(?:last |past )?{_NUMBER}(?:\s+{_UNIT})?", _share),
    (rf"{_NUMBER}\s+{_UNIT}\s+{_WEEKLY}", _counted(2)),
    (rf"(?:a )?(?:couple|couple of) (?:{_UNIT} )?(?:of {_UNIT} )?{_WEEKLY}", _fixed(4, 4)),
    (rf"(?:a )?few {_UNIT} {_WEEKLY}", _fixed(6, 8)),
    (rf"several {_UNIT} {_WEEKLY}", _fixed(6, 10)),
    (rf"once or twice {_WEEKLY}", _fixed(2, 4)),
    (rf"once {_WEEKLY}|once weekly|one {_UNIT} {_WEEKLY}", _fixed(2, 2)),
    (rf"twice {_WEEKLY}|twice weekly", _fixed(4, 4)),
    (rf"{_NUMBER}\s+(?:or|to|-)\s+{_NUMBER}\s+{_UNIT}", _counted(1)),
    (rf"{_NUMBER}\s+(?:straight\s+|whole\s+)?(?:days|nights)\s+in a row", _counted(1)),
    (rf"for (?:the (?:last|past) |about |over |at least )?{_NUMBER} (days?|weeks?)", _duration),
    (rf"{_NUMBER}\s+{_UNIT}", _counted(1)),
    (
        rf"(?:the |these |for )?(?:whole|entire) (?:{_FORTNIGHT}|time)"
        rf"|(?:all|throughout) (?:the |these )?(?:last |past )?(?:{_FORTNIGHT})",
        _fixed(14, 14),
    ),
    (r"(?:all|the whole|this whole) (?:this |last |past )?week\b", _fixed(7, 7)),
    (r"several (?:days|nights|mornings|times)", _fixed(2, 6)),
    (rf"(?:a )?couple (?:of )?{_UNIT}", _fixed(2, 2)),
    (rf"(?:a )?few {_UNIT}", _fixed(2, 4)),
    (r"once or twice", _fixed(1, 2)),
    (rf"(?:just |only )?once in (?:the |these )?(?:last |past )?(?:{_FORTNIGHT})|only once|just once", _fixed(1, 1)),
    (
        r"for (?:weeks|months|years)|(?:for|over) (?:the (?:last|past) )?(?:few|several|couple of|many) (?:weeks|months|years)",
        _fixed(12, 14),
    ),
    (
        r"not (?:even )?once|not at all|not a single (?:day|night|time)|not (?:one|a) (?:single )?(?:day|night)",
        _fixed(0, 0),
    ),
)
_VAGUE: tuple[tuple[str, Reading], ...] = (
    (
        r"all the time|constantly|always|non-?stop|24/7|permanently|continually|continuously|all day(?: long)?",
        _fixed(12, 14),
    ),
    (r"most of the time|mostly|usually|more often than not|the majority of the time", _fixed(8, 13)),
    (
        r"(?:quite |very |so |pretty |really )?(?:often|frequently|regularly)|a lot(?: of the time)?|lots of times"
        r"|many (?:days|nights|times)|much of the time",
        _fixed(6, 11),
    ),
    (
        r"sometimes|occasionally|at times|now and then|now and again|from time to time|on and off|off and on"
        r"|here and there|some (?:days|nights|mornings)|some of the time|every now and (?:then|again)|every so often"
        r"|every once in a while|comes and goes|good days and bad days",
        _fixed(2, 6),
    ),
    (
        r"rarely|hardly ever|seldom|barely ever|once in a (?:while|blue moon)|very occasionally"
        r"|not (?:very |that |too |so )?often|not much",
        _fixed(0, 2),
    ),
    (r"never", _fixed(0, 0)),
)
_TABLE = [(re.compile(rf"\b(?:{pattern})\b"), reading, True) for pattern, reading in _EXPLICIT]
_TABLE += [(re.compile(rf"\b(?:{pattern})\b"), reading, False) for pattern, reading in _VAGUE]


def read_days(text: str) -> Days | None:
    """The days that the words of a statement stand for; explicit ones before vague ones, None where there are none.

    >>> read_days("nearly every night"), read_days("three times a week")
    (Days(low=12, high=13, explicit=True), Days(low=6.0, high=6.0, explicit=True))
    >>> read_days("I sometimes do"), read_days("I do")
    (Days(low=2, high=6, explicit=False), None)
    """
    lowered = text.lower()
    for pattern, reading, explicit in _TABLE:
        match = pattern.search(lowered)
        if match is not None:
            low, high = reading(match)
            return Days(low, high, explicit)
    return None


def without_frequency(text: str) -> str:
    """A text in lower case without its words about how often.

    >>> without_frequency("Nearly every night I lie there and think")
    'i lie there and think'
    """
    lowered = text.lower()
    for pattern, _, _ in _TABLE:
        lowered = pattern.sub(" ", lowered)
    return " ".join(lowered.split())
