"""Sentences that have no keyword of an item and mean much the same: MiniLM's cosine with the item's own phrases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evidentia.assessment.frequency import without_frequency
from evidentia.assessment.instrument import Instrument
from evidentia.pipeline.encoders.interface import Encoder

# The lowest multiple of 0.05 at which no clause of the synthetic bank a is taken for another item, or a filler for any, each
# compared without the keywords that it holds. It bounds the cosine itself.
LEAST_COSINE = 0.5
FEWEST_WORDS = 3  # beside words of frequency: "all night" alone is about nothing


class ItemSimilarity:
    """Names the item whose wording, examples or keywords are closest to a clause, where that is close enough."""

    def __init__(self, instrument: Instrument, encoder: Encoder) -> None:
        phrases = [
            (item.id, text) for item in instrument.items for text in (item.question, *item.examples, *item.keywords)
        ]
        self.owners = [item for item, _ in phrases]
        self.encoder = encoder
        self.phrases = np.asarray(encoder.encode([text for _, text in phrases], kind="passage"), np.float64)

    def items(self, clauses: Sequence[str]) -> list[str | None]:
        """The item of every clause, or None; words of frequency are left out, since they are close to nights and days."""
        texts = [without_frequency(clause) for clause in clauses]
        if not texts:
            return []
        cosines = np.asarray(self.encoder.encode(texts, kind="passage"), np.float64) @ self.phrases.T
        nearest = cosines.argmax(axis=1)
        close = cosines.max(axis=1) >= LEAST_COSINE
        long = np.array([len(text.split()) >= FEWEST_WORDS for text in texts])
        return [self.owners[place] if counts else None for place, counts in zip(nearest, close & long, strict=True)]


def minilm() -> Encoder:
    """MiniLM's unit vectors of texts; needs the neural extra."""
    from evidentia.pipeline.encoders.make import make_encoder

    return make_encoder("minilm", cache=False)
