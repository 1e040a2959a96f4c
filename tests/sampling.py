"""Long lists of cases: a sample of every kind in the default run, the whole list with `pytest -m slow`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings

Test = TypeVar("Test", bound=Callable[..., Any])
SHARE, LEAST = 15, 5  # examples of a property in the default run: of a hundred, and at least

settings.register_profile("whole", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("sample", settings.get_profile("whole"), print_blob=True)  # told apart by its name only


def examples(number: int, **more: Any) -> Callable[[Test], Test]:
    """Try a property on so many examples in a whole run, and on their share in the default run."""
    share = number if settings.get_current_profile_name() == "whole" else max(number * SHARE // 100, LEAST)
    return lambda test: pytest.mark.sample(every=1)(settings(max_examples=share, **more)(test))


def is_default(config: pytest.Config) -> bool:
    """Whether slow tests are left out."""
    return "not slow" in config.option.markexpr


def mark_the_rest_slow(items: Iterable[pytest.Item], *, whole: bool) -> None:
    """Mark the cases slow that `sample(every=N, by=PARAMETERS)` leaves out; all of them where the whole list is asked for.

    Every N-th case of every kind stays, and at least one. A kind is a value of the parameters in ``by``. Where the first of
    them stands depends on the test and the kind, so that lists of the same cases do not all leave out the same ones.
    """
    sampled = [(item, mark) for item in items if (mark := item.get_closest_marker("sample")) is not None]
    by_kind: dict[Hashable, list[pytest.Item]] = {}
    for item, mark in sampled:
        by_kind.setdefault((mark.kwargs["every"], *_kind(item, **mark.kwargs)), []).append(item)
    kinds: Counter[str] = Counter()
    for (every, test, *_), cases in by_kind.items():
        start = (crc32(test.encode()) + kinds[test]) % min(every, len(cases))
        kinds[test] += 1
        for place, item in enumerate(cases):
            if whole or place % every != start:
                item.add_marker(pytest.mark.slow)


def _kind(item: pytest.Item, *, every: int, by: tuple[str, ...] = ()) -> tuple[Any, ...]:
    chosen = [item.callspec.params[name] for name in by] if isinstance(item, pytest.Function) else []
    return (item.nodeid.partition("[")[0], *chosen)
