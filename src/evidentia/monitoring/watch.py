"""Batches of new posts read, scored by one model and compared with the first of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from evidentia.corpus import Corpus, read_posts
from evidentia.corpus.splitter import DEFAULT
from evidentia.errors import InputError, Problem, counted, shown
from evidentia.monitoring.course import Course, Settings, judge
from evidentia.monitoring.signals import Observed
from evidentia.pipeline.predict import Trained
from evidentia.protocol.answers import read_labels
from evidentia.tables.files import Loaded, load
from evidentia.tables.run import Source

FEWEST = 20  # posts of a batch below which the rank test is not near enough to its normal approximation
Progress = Callable[[int, int], None]


def watch(
    trained: Trained,
    batches: Sequence[Path],
    *,
    labels: Path | None = None,
    reference: int = 1,
    settings: Settings | None = None,
    splitter: str | None = None,
    progress: Progress | None = None,
) -> Course:
    """Compare every batch behind the first ``reference`` ones with those, in the order of time.

    The first batches are the reference because the same model scored them and nothing was chosen on them: the EVAL rows of
    a run come from other models, and thresholds were chosen on its TUNE rows.
    """
    settings = settings or Settings()
    names = _names(batches)
    _refuse_counts(len(batches), reference, settings)
    observed: list[Observed] = []
    notes: list[str] = []
    sources: list[Source] = []
    for path, name in zip(batches, names, strict=True):
        read = _read(trained, path, name, splitter)
        observed.append(Observed.of(trained, read.posts, name))
        notes += [f"{name}: {difference}" for difference in trained.differences(read.posts, read.splitter)]
        sources += [replace(source, role=name) for source in read.sources]
        if progress is not None:
            progress(len(observed), len(batches))
    if labels is not None:
        loaded = load(labels)
        observed, unknown = _labelled(observed, loaded)
        sources.append(Source("labels", loaded.name, loaded.sha256, loaded.frame.height))
        notes += [f"{labels.name}: {counted(unknown, 'label')} of posts that no batch holds."] if unknown else []
    first = Observed.joined(observed[:reference], "reference")
    judged = tuple(judge(first, batch, settings) for batch in observed[reference:])
    about = {"batches": list(names[:reference]), "posts": len(first), "labelled": int(first.labelled.sum())}
    return Course(trained.sha256, about, settings, judged, tuple(notes), tuple(sources))


def _names(batches: Sequence[Path]) -> tuple[str, ...]:
    """Files and folders by their names, without what says how a file is written."""
    names = tuple(path.resolve().name.removesuffix(".gz").removesuffix(".jsonl") for path in batches)
    twice = [name for at, name in enumerate(names) if name in names[:at]]
    if twice:
        raise InputError(f"Two batches are called {shown(twice[0])}. Give each file or folder a name of its own.")
    return names


def _refuse_counts(batches: int, reference: int, settings: Settings) -> None:
    if not 1 <= reference < batches:
        raise InputError(
            f"{counted(batches, 'batch', 'batches')}, of which {reference} would be the reference. Give that and one more, in the "
            "order of time."
        )
    if batches - reference > settings.horizon:
        raise InputError(
            f"{batches - reference} batches behind the reference, and the promise is about {settings.horizon}. Begin a new course "
            "with a later reference, or set --horizon, which makes alarms rarer."
        )


def _read(trained: Trained, path: Path, name: str, splitter: str | None) -> Corpus:
    """The posts of a batch, none of which the model knows."""
    usual = (trained.cut.splitter or DEFAULT).partition(" ")[0]
    read = read_posts(path, criteria=trained.criteria, splitter=splitter or usual)
    if len(read) < FEWEST:
        raise InputError(
            f"{shown(name)}: {counted(len(read), 'post')}. A batch needs {FEWEST} or more: join it with the next."
        )
    if seen := trained.seen(read.posts):
        which = counted(seen, "of these posts", "of these posts")
        raise InputError(
            f"{shown(name)}: the model was trained or tuned on {which}. Leave them out: it says more of them than of others."
        )
    return read


def _labelled(batches: Sequence[Observed], loaded: Loaded) -> tuple[list[Observed], int]:
    """The batches with what the labels say of their posts, and how many labels are about none of them."""
    labels = read_labels(loaded)
    places = {criterion: at for at, criterion in enumerate(batches[0].criteria)}
    strange = labels.filter(~pl.col("criterion_id").is_in(list(places)))
    if strange.height:
        message = f"{loaded.name}: {counted(strange.height, 'label')} of criteria that the model does not know"
        raise InputError(
            Problem("UNKNOWN_CRITERION", f"{message} (first: {shown(strange['criterion_id'][0])}). Leave them out.")
        )
    known: dict[str, dict[int, bool]] = {}
    for post, criterion, has in labels.select("post_id", "criterion_id", "has").iter_rows():
        known.setdefault(post, {})[places[criterion]] = has
    partly = [post for post, own in known.items() if len(own) < len(places)]
    if partly:
        message = f"{loaded.name}: {counted(len(partly), 'post')} of which only some criteria are labelled"
        raise InputError(
            Problem("MISSING_PAIR", f"{message} (first: {shown(partly[0])}). Label every criterion of a post, or none.")
        )
    here = {post for batch in batches for post in batch.post_ids}
    unknown = sum(len(own) for post, own in known.items() if post not in here)
    return [_with_labels(batch, known) for batch in batches], unknown


def _with_labels(batch: Observed, known: dict[str, dict[int, bool]]) -> Observed:
    has, labelled = batch.has_evidence.copy(), np.array([post in known for post in batch.post_ids], bool)
    for at in np.flatnonzero(labelled).tolist():
        own = known[batch.post_ids[at]]
        has[at] = [own[place] for place in range(len(batch.criteria))]
    return replace(batch, has_evidence=has, labelled=labelled)
