"""Assessment: transcripts and texts become item scores that may abstain, each with its evidence, in a run file."""

from evidentia.assessment.answers import ItemAnswer, Quote, Scorer, ScorerError
from evidentia.assessment.instrument import Instrument, Item, load_instrument
from evidentia.assessment.interviews import Interview, Turn, read_interviews, read_truth

__all__ = [
    "Instrument",
    "Interview",
    "Item",
    "ItemAnswer",
    "Quote",
    "Scorer",
    "ScorerError",
    "Turn",
    "load_instrument",
    "read_interviews",
    "read_truth",
]
