"""A result whose rows stayed in tables, as its folder holds it: numbers, and their values in every replicate."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evidentia.array_types import Floats
from evidentia.errors import InputError, spelled
from evidentia.evaluation.files import manifest_of
from evidentia.evaluation.load import result_name
from evidentia.measures import Definition, Profile
from evidentia.results import loads
from evidentia.results.folder import TABLES_MANIFEST_SCHEMA
from evidentia.results.names import group_suffix, parse_name

REPLICATES = "replicates.parquet"
KEPT = ("manifest.json", "summary.json", REPLICATES)  # what a comparison keeps of such a result
TRUTH = ("criterion", "queries", "with_evidence", "queries_hash", "evidence_hash", "gold_hash")
Number = tuple[str, str]  # a definition, and a group as names print it


@dataclass(frozen=True, eq=False)
class Replicates:
    """The values of a number in every replicate, NaN where it is undefined, and the effective number of posts behind it."""

    values: Floats
    effective: float


@dataclass(frozen=True, eq=False)
class TablesResult:
    """A folder of `evidentia evaluate` that read its tables block by block."""

    name: str
    folder: Path
    manifest: Mapping[str, Any]
    summary: Mapping[str, Any]
    numbers: Mapping[Number, Mapping[str, Any]]  # the entries of the summary

    @property
    def profile(self) -> str:
        """The profile that it was made with."""
        return str(self.manifest["profile"])

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that it was made with."""
        options: Mapping[str, Any] = self.manifest["options"]
        return options

    @property
    def truth(self) -> Sequence[Mapping[str, Any]] | None:
        """What the queries of every criterion are judged against; None in a folder that does not say it."""
        return self.manifest.get("truth")

    def names(self, profile: Profile) -> tuple[str, ...]:
        """The measures that the result was asked for, as names to be read under a profile."""
        named, k, dual = (self.options.get(option) for option in ("measures", "k", "dual"))
        return tuple(named) if named is not None else profile.names(ks=k, dual=bool(dual))

    def holds(self, definition: Definition) -> bool:
        """Whether it has the value of a definition over all queries."""
        return (definition.expanded, "") in self.numbers

    def replicates(self, definitions: Iterable[Definition]) -> dict[Number, Replicates]:
        """What the file of replicates holds of some definitions, in all their groups."""
        wanted = [definition.expanded for definition in definitions]
        try:
            frame = pl.read_parquet(self.folder / REPLICATES)
            mine = frame.filter(pl.col("definition").is_in(wanted) & pl.col("gap").is_null())
            columns = mine.select("definition", "group", "effective_posts", "values")
            read = {
                (definition, group): Replicates(np.array(values, np.float64), effective)
                for definition, group, effective, values in columns.iter_rows()
            }
        except (OSError, pl.exceptions.PolarsError, TypeError, ValueError) as error:
            raise InputError(
                f"{self.name}/{REPLICATES} is not one that this version wrote ({type(error).__name__}). "
                "Evaluate its tables again."
            ) from None
        resamples = self.summary["resamples"]
        if any(each.values.shape != (resamples,) for each in read.values()):
            raise InputError(f"{self.name}/{REPLICATES} does not hold {resamples:,} replicates of every number.")
        return read


def is_result_of_tables(result: object) -> bool:
    """Whether something is the folder of a result whose rows stayed in tables."""
    return isinstance(result, str | Path) and manifest_of(Path(result)).get("schema") == TABLES_MANIFEST_SCHEMA


def read_tables_result(folder: Path) -> TablesResult:
    """Read what a comparison needs of such a folder."""
    name, manifest = result_name(folder.resolve()), manifest_of(folder)
    try:
        summary = loads((folder / "summary.json").read_text(encoding="utf-8"))
        _look_up(manifest, summary)
        entries = {
            (str(entry["definition"]), group_suffix(parse_name(key).group)): entry
            for key, entry in summary["measures"].items()
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise InputError(
            f"{name} is not a result that Evidentia wrote: what it says of itself lacks something ({type(error).__name__}). "
            "Evaluate its tables again."
        ) from None
    return TablesResult(name, folder, manifest, summary, entries)


def _look_up(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> None:
    """Fail here, where something is missing that a comparison reads, or is of another kind."""
    _ = manifest["profile"], manifest["options"]["measures"], {summary["interval"]["bootstrap"]}
    numbers = [summary["seed"], summary["resamples"], summary["dataset"]["queries"], summary["dataset"]["posts"]]
    for entry in summary["measures"].values():
        numbers += [entry["n"], entry["n_clusters"], entry["value"] or 0]
        _ = entry["degenerate"], [*entry["warnings"]]
    if not all(isinstance(number, int | float) for number in numbers):
        raise TypeError
    for entry in manifest.get("truth", ()):
        _ = [entry[key] for key in TRUTH]


def refuse_mixed(results: Sequence[object]) -> None:
    """Refuse results of tables beside others: the first keep replicates and no rows, the others rows and no replicates."""
    of_tables = [is_result_of_tables(result) for result in results]
    if any(of_tables) and not all(of_tables):
        folder = Path(str(results[of_tables.index(True)]))
        raise InputError(
            f"{result_name(folder.resolve())} was read block by block, and its rows are not in the folder: it can only be "
            "compared with results that were read so, too. Evaluate the others block by block, "
            f"{spelled('with --memory and --resamples', 'with evaluate_tables')}, or this one in memory, "
            f"{spelled('without --memory, --engine, --workers and --scratch', 'with evaluate')}."
        )


def refuse_other_draws(result: TablesResult, asked: Mapping[str, object]) -> None:
    """Refuse a seed, a number of resamples or a bootstrap that somebody names and that is not the one of the result."""
    interval = result.summary["interval"]
    held = {"seed": result.summary["seed"], "resamples": result.summary["resamples"], **interval}
    for name, value in asked.items():
        if value not in {None, "auto", held[name]}:
            raise InputError(
                f"{result.name} was read block by block, and its replicates are those of {name} {held[name]}, not {value}. Leave "
                f"out {spelled(f'--{name}', name)}, or evaluate its tables again."
            )


def refuse_unpaired(results: Sequence[TablesResult]) -> None:
    """Refuse results whose replicates are not paired: of other weights, or judged against another truth."""
    for result in results:
        if not result.summary["resamples"]:
            raise InputError(
                f"{result.name} holds no replicates to compare. Evaluate its tables again with resamples, for example "
                "--resamples 1000."
            )
        if result.truth is None:
            raise InputError(
                f"{result.name} does not say which queries it judged against which gold: it was written before results of "
                "tables could be compared. Evaluate its tables again."
            )
    first, *others = results
    for other in others:
        _refuse_other_weights(first, other)
        _refuse_other_truth(first, other)


def _refuse_other_weights(first: TablesResult, other: TablesResult) -> None:
    for key, word in (("seed", "seed"), ("resamples", "number of resamples")):
        one, two = first.summary[key], other.summary[key]
        if one != two:
            raise InputError(
                f"{first.name} and {other.name} were resampled differently: their {word} is {one:,} and {two:,}. Evaluate the "
                f"tables of one of them again, with --{key} {one if key == 'seed' else max(one, two)}."
            )
    kinds = [result.summary["interval"]["bootstrap"] for result in (first, other)]
    if kinds != ["poisson", "poisson"]:
        raise InputError(
            f"{first.name} and {other.name} were resampled differently: {kinds[0]} and {kinds[1]}. Only Poisson weights are the "
            "same for both: evaluate the tables again."
        )


def _refuse_other_truth(first: TablesResult, other: TablesResult) -> None:
    one, two = ({entry["criterion"]: entry for entry in result.truth or ()} for result in (first, other))
    both = f"{first.name} and {other.name}"
    if one.keys() != two.keys():
        raise InputError(
            f"{both} hold other criteria: only one of them has {_listed(one.keys() ^ two.keys())}. Results of tables "
            "are compared over the same queries: evaluate these."
        )
    other_queries = [name for name in one if _differ(one[name], two[name], "queries", "queries_hash")]
    if other_queries:
        name = other_queries[0]
        raise InputError(
            f"{both} hold other queries under criterion {_listed(other_queries)} ({one[name]['queries']:,} and "
            f"{two[name]['queries']:,} under {name}). Results of tables are compared over the same queries: evaluate these."
        )
    evidence = [name for name in one if _differ(one[name], two[name], "with_evidence", "evidence_hash")]
    gold = [name for name in one if None not in (pair := _golds(one[name], two[name])) and len({*pair}) > 1]
    for words, criteria in (("which queries have evidence", evidence), ("the gold sentences", gold)):
        if criteria:
            raise InputError(
                f"{both} disagree about {words} under criterion {_listed(criteria)}. Systems can only be compared on the same "
                "truth."
            )


def _differ(one: Mapping[str, Any], two: Mapping[str, Any], *keys: str) -> bool:
    return any(one[key] != two[key] for key in keys)


def _golds(one: Mapping[str, Any], two: Mapping[str, Any]) -> tuple[str | None, str | None]:
    return one["gold_hash"], two["gold_hash"]


def _listed(criteria: Collection[str]) -> str:
    """The first few criteria."""
    first = sorted(criteria)[:3]
    more = len(criteria) - len(first)
    return f"{', '.join(first)}{f' and {more:,} more' if more else ''}"
