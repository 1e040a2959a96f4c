"""Long lists of cases: a sample of every kind in the default run, the whole list with `pytest -m slow`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

Test = TypeVar("Test", bound=Callable[..., Any])
SHARE, LEAST = 25, 5  # examples of a property in the default run: of a hundred, and at least

settings.register_profile("whole", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("sample", settings.get_profile("whole"), max_examples=SHARE)


def examples(number: int, **more: Any) -> Callable[[Test], Test]:
    """Try a property on so many examples in a whole run, and on their share in the default run."""
    share = max(number * settings().max_examples // 100, LEAST)
    return lambda test: pytest.mark.sample(every=1)(settings(max_examples=share, **more)(test))


def is_default(config: pytest.Config) -> bool:
    """Whether slow tests are left out."""
    return "not slow" in config.option.markexpr


def mark_the_rest_slow(items: Iterable[pytest.Item], *, whole: bool) -> None:
    """Mark the cases slow that `sample(every=N, by=PARAMETERS)` leaves out; all of them where the whole list is asked for.

    The first case of every kind stays, then every N-th. A kind is a value of the parameters in ``by``.
    """
    seen: Counter[Hashable] = Counter()
    for item in items:
        mark = item.get_closest_marker("sample")
        if mark is None:
            continue
        kind = _kind(item, **mark.kwargs)
        if whole or seen[kind] % mark.kwargs["every"]:
            item.add_marker(pytest.mark.slow)
        seen[kind] += 1


def _kind(item: pytest.Item, *, every: int, by: tuple[str, ...] = ()) -> Hashable:
    chosen = [item.callspec.params[name] for name in by]  # type: ignore[attr-defined]
    return (item.nodeid.partition("[")[0], *chosen)
