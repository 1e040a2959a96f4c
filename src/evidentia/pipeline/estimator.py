"""A pipeline in the form of a scikit-learn estimator: settings in, `fit` on a corpus, `predict` on posts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from evidentia.corpus import Corpus, Posts, read_corpus
from evidentia.errors import InputError, typed
from evidentia.pipeline.build import check_extras, system_of
from evidentia.pipeline.config import Config, parse_config, read_config
from evidentia.pipeline.cutting import SentenceCut
from evidentia.pipeline.outputs import final_decider
from evidentia.pipeline.plan import FINAL, Plan, refuse_too_few
from evidentia.pipeline.predict import Trained
from evidentia.pipeline.serving import PostAnswers, Predictor
from evidentia.pipeline.store import Checkpoints
from evidentia.pipeline.system import full
from evidentia.pipeline.vocabulary import known_words, usual_share
from evidentia.pipeline.work import FoldJob, run_fold


class EvidencePipeline:
    """Learns to find evidence from labelled posts, and answers for new ones, as scikit-learn's estimators do.

    It is the model for use of `evidentia run` without the outer folds: nothing is judged. To know how good it is, run it.

    Parameters
    ----------
    config : path or mapping, default=None
        A configuration file, or its tables as a mapping; None takes every default. What it says of a corpus is not read.

    Attributes
    ----------
    predictor_ : Predictor
        What was learnt, after ``fit``.

    Examples
    --------
    >>> from evidentia.synth import synthetic_corpus
    >>> settings = {"reranker": {"learners": ["words"], "model": "logistic"}, "gate": {"model": "logistic"}}
    >>> corpus = synthetic_corpus(posts=60, positives=150, mean_sentences=6, seed=3)
    >>> pipeline = EvidencePipeline(settings).fit(corpus)
    >>> (post,) = pipeline.predict(["It rains today. I cannot sleep at night."])
    >>> len(post.answers), post["A.4"].state in {"NEG", "UNCERTAIN", "POS"}
    (10, True)
    """

    def __init__(self, config: Path | str | Mapping[str, Any] | None = None) -> None:
        self.config = config

    def __repr__(self) -> str:
        return f"EvidencePipeline({'' if self.config is None else 'config=...'})"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name.

        Parameters
        ----------
        deep : bool, default=True
            Is not used; scikit-learn passes it.

        Returns
        -------
        dict
            ``config`` as it was given.
        """
        return {"config": self.config}

    def set_params(self, **params: Any) -> Self:
        """Change settings.

        Parameters
        ----------
        **params : object
            ``config``.

        Returns
        -------
        EvidencePipeline
            Itself.
        """
        for name, value in params.items():
            if name != "config":
                raise InputError(f"There is no parameter {typed(name)}. EvidencePipeline has one: config.")
            self.config = value
        return self

    def fit(self, corpus: Corpus | Posts | Path | str, y: object = None) -> Self:
        """Learn from a labelled corpus: from 70 % of its posts, and tune on the others.

        Parameters
        ----------
        corpus : Corpus, Posts or path
            The folder of a corpus, or one that was read with its labels.
        y : object, default=None
            Is not used: labels belong to sentences and are in the corpus.

        Returns
        -------
        EvidencePipeline
            Itself.

        Raises
        ------
        InputError
            If the configuration or the corpus is wrong, or there are too few posts to tune on.
        """
        config = _settings(self.config)
        posts, splitter = _labelled(corpus, config.corpus.splitter)
        self.predictor_ = Predictor(_trained(config, posts, splitter))
        return self

    def predict(self, posts: Sequence[object]) -> list[PostAnswers]:
        """Answer every criterion for every post.

        Parameters
        ----------
        posts : sequence of str or mapping
            As in ``Predictor.predict``.

        Returns
        -------
        list of PostAnswers
            One for every post, in their order.

        Raises
        ------
        InputError
            If nothing was learnt yet, or a post cannot be read.
        """
        if not hasattr(self, "predictor_"):
            raise InputError("Nothing was learnt yet. Call fit with a labelled corpus first.")
        return self.predictor_.predict(posts)


def _settings(config: Path | str | Mapping[str, Any] | None) -> Config:
    if isinstance(config, Path | str):
        return read_config(config)
    return parse_config({"corpus": {"path": "synthetic"}, **(config or {})}, base=Path())


def _labelled(corpus: Corpus | Posts | Path | str, splitter: str) -> tuple[Posts, str | None]:
    if isinstance(corpus, Path | str):
        corpus = read_corpus(corpus, splitter=splitter)
    posts, cut_by = (corpus, None) if isinstance(corpus, Posts) else (corpus.posts, corpus.splitter)
    if posts.gold is None:
        raise InputError("The corpus has no labels. Read it with them (labels.csv): fit learns from them.")
    return posts, cut_by


def _trained(config: Config, posts: Posts, splitter: str | None) -> Trained:
    """What `evidentia run` trains for use; its checkpoints are removed."""
    check_extras(config)
    system, protocol = system_of(config), config.protocol
    copies = protocol.groups == "duplicates"
    plan = Plan.of(system, posts, folds=protocol.folds, group_copies=copies, outer=False)
    refuse_too_few(plan)
    (division,) = plan.divisions()
    with TemporaryDirectory() as home:
        store = Checkpoints(Path(home))
        run_fold(FoldJob(system, posts, division, store))
        decider = final_decider(plan, store, division, full(system))
        learnt = {step.name: store.parts(FINAL, step.name) for step in system}
    train, tune = posts.take(division.train), posts.take(division.tune)
    return Trained(
        system,
        learnt,
        decider,
        posts.criteria,
        frozenset(train.post_ids),
        frozenset(decider.tune_posts),
        SentenceCut.of(train, splitter),
        usual_share(tune, known_words(learnt)),
    )
