"""MiniLM read token by token: its last layers learn from TRAIN what every criterion looks for in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from evidentia.array_types import Floats, Ints
from evidentia.corpus.posts import offsets_of, rows_of
from evidentia.pipeline.encoders.interface import Cache, States, TokenEncoder
from evidentia.pipeline.encoders.minilm import LAYERS
from evidentia.pipeline.neural.attention import AttentionSettings, fit_attention, predict_attention
from evidentia.pipeline.stage import Lesson, Parts, Supervised, View
from evidentia.pipeline.stages.models import same_model, token_encoder
from evidentia.tables.queries import Frozen

_CERTAIN = -6.0  # log odds where TRAIN has no gold


@dataclass(frozen=True, eq=False)
class Tokens(Frozen):
    """The vectors of all tokens of some posts: ``ends`` parts them into sentences, ``offsets`` the sentences into posts."""

    states: States
    ends: Ints
    offsets: Ints

    def take(self, posts: Ints) -> Tokens:
        """The same about some of the posts."""
        sentences = rows_of(posts, self.offsets)
        states = self.states[rows_of(sentences, self.ends)]
        return Tokens(states, offsets_of(sentences, self.ends), offsets_of(posts, self.offsets))


@dataclass(frozen=True)
class TokenReader(Supervised):
    """The last layers of MiniLM and an attention for every criterion, taught on the sentences of TRAIN.

    A mean over all tokens drowns the two that matter: here every criterion weighs the tokens itself. What the lower layers
    say never changes, so it comes from the cache. Two passes over 6,000 sentences of 40 tokens took four to five and a half
    minutes of one CPU core.
    """

    cache: Cache = True
    settings: AttentionSettings = field(default_factory=AttentionSettings)

    @property
    def _encoder(self) -> TokenEncoder:
        return token_encoder(LAYERS - self.settings.layers, self.cache)

    def space(self, train: View) -> Parts:
        """Which encoder it was, and where its layers begin to learn."""
        return Parts({"encoder": self._encoder.key})

    def inputs(self, space: Parts, view: View) -> Tokens:
        """The vectors of all tokens, as far as nothing learns."""
        same_model(self._encoder, space.document["encoder"])
        states = self._encoder.states(view.posts.texts)
        ends = np.concatenate([[0], np.cumsum([len(each) for each in states])]).astype(np.int64)
        return Tokens(np.concatenate(states), ends, view.posts.offsets)

    def fit(self, inputs: Tokens, lesson: Lesson, *, seed: int) -> Parts:
        """The layers and the attentions; TRAIN without any gold gives a constant."""
        rows = rows_of(lesson.posts, inputs.offsets)
        if not lesson.gold[rows].any():
            return Parts({"criteria": lesson.gold.shape[1]})
        return fit_attention(inputs.states, inputs.ends, rows, lesson.gold, self.settings, seed=seed)

    def score(self, space: Parts, model: Parts, inputs: Tokens) -> Floats:
        """The log odds of every sentence for every criterion."""
        if not model.arrays:
            return np.full((len(inputs.ends) - 1, int(model.document["criteria"])), _CERTAIN)
        return predict_attention(model, inputs.states, inputs.ends)
