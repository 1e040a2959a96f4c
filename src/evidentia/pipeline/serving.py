"""A trained pipeline in a program: asked about texts in memory, from any number of threads, with typed answers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evidentia.corpus.memory import LoadedPosts, posts_in_memory, rows_in_memory
from evidentia.corpus.splitter import DEFAULT
from evidentia.errors import UnknownNameError, counted, shown, typed
from evidentia.pipeline.cutting import ENOUGH
from evidentia.pipeline.predict import Trained, load_trained
from evidentia.pipeline.tables import Decisions, lists_of, predicted_rows
from evidentia.tables.queries import STATES


@dataclass(frozen=True, slots=True)
class Evidence:
    """A sentence that speaks for a criterion, by its place. No text is kept: ``text[start:stop]`` of the text given is it.

    Attributes
    ----------
    sent_uid : str
        Id of the sentence: the one given with it, else the id of the post and its number.
    index : int
        Number of the sentence in its post, from 0.
    start : int or None
        First character in the text that was given; None where the post was given as sentences.
    stop : int or None
        Behind the last character, likewise.

    Examples
    --------
    >>> text = "It rains. I sleep badly."
    >>> evidence = Evidence("0_1", 1, 10, 24)
    >>> text[evidence.start : evidence.stop]
    'I sleep badly.'
    """

    sent_uid: str
    index: int
    start: int | None = None
    stop: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a text says about one criterion. It is about a text, never a finding about a person.

    Attributes
    ----------
    criterion_id : str
        The criterion.
    state : str
        NEG, UNCERTAIN or POS.
    prob : float
        Calibrated probability that the text holds evidence.
    evidence : tuple of Evidence
        The evidence sentences, best first; none where the state is NEG.

    Examples
    --------
    >>> Answer("A.4", "NEG", 0.02, ()).state
    'NEG'
    """

    criterion_id: str
    state: str
    prob: float
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class PostAnswers:
    """What a post says about every criterion, in the order of the model's criteria.

    Attributes
    ----------
    post_id : str
        Id of the post; of a text without one its number, from 0.
    answers : tuple of Answer
        One for every criterion; ``post[criterion_id]`` is that of one.

    Examples
    --------
    >>> post = PostAnswers("0", (Answer("A.4", "NEG", 0.02, ()),))
    >>> post["A.4"].prob
    0.02
    """

    post_id: str
    answers: tuple[Answer, ...]

    def __getitem__(self, criterion_id: str) -> Answer:
        for answer in self.answers:
            if answer.criterion_id == criterion_id:
                return answer
        known = ", ".join(shown(answer.criterion_id) for answer in self.answers)
        raise UnknownNameError(f"There is no criterion {typed(criterion_id)}. This model knows {known}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts and lists, as JSON has them."""
        return asdict(self)


class Predictor:
    """A trained pipeline that is ready to answer, as ``load`` returns it. It holds nothing of the posts that it is asked about.

    Everything about it is read-only, so threads may share it. Their answers are those of `evidentia predict`, to the bit.

    Parameters
    ----------
    trained : Trained
        The pipeline.

    Examples
    --------
    >>> import evidentia
    >>> evidentia.load("run").predict(["I cannot sleep."])  # doctest: +SKIP
    """

    def __init__(self, trained: Trained) -> None:
        self._trained = trained
        self._splitter = (trained.cut.splitter or DEFAULT).partition(" ")[0]

    def __repr__(self) -> str:
        return f"Predictor({counted(len(self.criterion_ids), 'criterion', 'criteria')}, sha256={self.sha256[:12]!r})"

    @property
    def criterion_ids(self) -> tuple[str, ...]:
        """The criteria that it knows, in the order of its answers."""
        return tuple(criterion.criterion_id for criterion in self._trained.criteria)

    @property
    def sha256(self) -> str:
        """The hash of the model, as `evidentia run` printed it; empty for one that was never written."""
        return self._trained.sha256

    @property
    def thresholds(self) -> dict[str, float | None]:
        """The thresholds that part the states; None rejects everything."""
        return self._trained.decider.tuning.taus

    def predict(self, posts: Sequence[object], *, splitter: str | None = None) -> list[PostAnswers]:
        """Answer every criterion for every post.

        Parameters
        ----------
        posts : sequence of str or mapping
            Texts; or objects with ``post_id`` and either ``text`` or ``sentences`` (texts, or objects with ``sent_uid`` and
            ``text``).
        splitter : {"pysbd", "sentencex", "lines"}, default=None
            What cuts texts into sentences; None takes that of training.

        Returns
        -------
        list of PostAnswers
            One for every post, in their order.

        Raises
        ------
        InputError
            If a post has no sentence, or an id comes twice.

        Warns
        -----
        UserWarning
            If 10 posts or more look unlike those of training; fewer say too little.
        """
        if isinstance(posts, list | tuple) and not posts:
            return []
        loaded = self._loaded(posts, splitter)
        return _typed(loaded, self._trained.decide(loaded.posts))

    def predict_frame(self, frame: object, *, splitter: str | None = None) -> pl.DataFrame:
        """Answer every criterion for every row of a table.

        Parameters
        ----------
        frame : data frame
            Of polars, pandas or Arrow, with the columns ``post_id`` and ``text`` (or ``sentences``, lists of texts).
        splitter : {"pysbd", "sentencex", "lines"}, default=None
            What cuts texts into sentences; None takes that of training.

        Returns
        -------
        polars.DataFrame
            The columns that `evidentia predict` writes, and ``evidence_starts`` and ``evidence_stops``: where the evidence
            sentences lie in the text (null where sentences were given).

        Raises
        ------
        InputError
            If a column is missing, a post has no sentence, or an id comes twice.
        """
        loaded = self._loaded(rows_in_memory(frame), splitter)
        decisions = self._trained.decide(loaded.posts)
        starts, stops = _places(loaded, decisions)
        rows = predicted_rows(loaded.posts, decisions, self.thresholds)
        columns = {"evidence_starts": starts, "evidence_stops": stops}
        return rows.with_columns(
            pl.Series(name, lists_of(values, decisions.ends), pl.List(pl.Int64)) for name, values in columns.items()
        )

    def _loaded(self, posts: Sequence[object], splitter: str | None) -> LoadedPosts:
        loaded = posts_in_memory(posts, criteria=self._trained.criteria, splitter=splitter or self._splitter)
        if len(loaded) >= ENOUGH:
            for difference in self._trained.differences(loaded.posts, loaded.splitter):
                warnings.warn(difference, stacklevel=3)
        return loaded


def _places(loaded: LoadedPosts, decisions: Decisions) -> tuple[list[int | None], list[int | None]]:
    """Where every evidence sentence starts and stops in the text of its post."""
    starts = [None if loaded.starts[at] < 0 else loaded.starts[at] for at in decisions.evidence.tolist()]
    lengths = (len(loaded.posts.texts[at]) for at in decisions.evidence.tolist())
    return starts, [None if start is None else start + length for start, length in zip(starts, lengths, strict=True)]


def _typed(loaded: LoadedPosts, decisions: Decisions) -> list[PostAnswers]:
    posts, places = loaded.posts, decisions.evidence.tolist()
    first = posts.offsets[:-1][posts.owner].tolist()
    uids, index = [posts.sent_uids[at] for at in places], [at - first[at] for at in places]
    evidence = lists_of([*map(Evidence, uids, index, *_places(loaded, decisions))], decisions.ends)
    criteria = posts.criterion_ids * len(posts)
    states = [STATES[code] for code in decisions.state.tolist()]
    answers = [*map(Answer, criteria, states, decisions.prob.tolist(), map(tuple, evidence))]
    width = len(posts.criteria)
    return [PostAnswers(post, tuple(answers[at * width : (at + 1) * width])) for at, post in enumerate(posts.post_ids)]


def load(
    folder: Path | str,
    *,
    allow_endpoints: Iterable[str] = (),
    allow_keys: Iterable[str] = (),
    trust_remote_code: bool = False,
    config: Path | str | None = None,
    sha256: str | None = None,
) -> Predictor:
    """Load a trained pipeline and warm it up, ready to answer.

    Parameters
    ----------
    folder : path
        The folder of `evidentia run`, or of one of its models.
    allow_endpoints : iterable of str, default=()
        Servers of the model that may be sent texts.
    allow_keys : iterable of str, default=()
        Environment variables whose keys may be sent.
    trust_remote_code : bool, default=False
        Whether models of the folder may run code of their own.
    config : path, default=None
        Your own configuration: allows the servers and keys that it names.
    sha256 : str, default=None
        Hash that the model must have, as `evidentia run` printed it.

    Returns
    -------
    Predictor
        With ``predict`` and ``predict_frame``.

    Raises
    ------
    InputError
        If the folder holds no trained pipeline, it is damaged or another one, or something of it is not allowed.

    Warns
    -----
    UserWarning
        If a key that the model asks for is not sent.

    Examples
    --------
    >>> from evidentia import InputError
    >>> try:
    ...     load("nowhere")
    ... except InputError as error:
    ...     print(str(error).partition(".")[0])
    nowhere holds no trained pipeline
    """
    trained = load_trained(
        folder,
        allow_endpoints=allow_endpoints,
        allow_keys=allow_keys,
        trust_remote_code=trust_remote_code,
        config=config,
        sha256=sha256,
        keep_vectors=False,
    )
    for note in trained.notes:
        warnings.warn(note, stacklevel=2)
    warm = posts_in_memory([trained.criteria[0].wording], criteria=trained.criteria, splitter="lines")
    trained.decide(warm.posts)  # what is made on first use is made now
    return Predictor(trained)
