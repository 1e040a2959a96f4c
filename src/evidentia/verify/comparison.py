"""Verify a comparison: every difference from what the folder keeps of each system, every table, every word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evidentia.array_types import Floats
from evidentia.errors import InputError, counted
from evidentia.results.catalogue import Definition, resolve
from evidentia.results.profiles import COMPARED_BY_DEFAULT, COMPARED_PER_CRITERION, PROFILES, Profile
from evidentia.verify.deltas import Contest, Side, Terms, Want, delta_sheets
from evidentia.verify.draws import Progress
from evidentia.verify.evidence import Query, read_plain_queries, read_tune
from evidentia.verify.figures import sheets_of_systems
from evidentia.verify.folder import ResultFolder
from evidentia.verify.intervals import EXACT, POISSON, said_of_bootstrap
from evidentia.verify.plan import averaged
from evidentia.verify.points import definitions, needs, unmet
from evidentia.verify.record import INPUTS, STAMP, check_form, forms
from evidentia.verify.sheet import check_sheets
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally, compare


def is_choice(value: object) -> bool:
    """A list of measures, the main ones, or null."""
    return value is None or value == COMPARED_BY_DEFAULT or isinstance(value, list)


COMPARISON = "evidentia.comparison-manifest/2"
SCHEMA = "evidentia.comparison/1"
OPTIONS = forms("alpha", "ci", "design", "profile") | {
    "on_mismatch": re.compile("error|intersect"),
    "measures": is_choice,
}
MANIFEST = {
    **forms("schema", "profile", "seed", "resamples", "files", *STAMP),
    "systems": [forms("folder", "made_with", "name")],
    "inputs": INPUTS,
}
KEPT = ("per_query.csv", "candidates.parquet", "tune.parquet")
NAME = re.compile(r"[A-Za-z0-9._+() -]+")


@dataclass(frozen=True, eq=False)
class ComparedSystem:
    """A system as the folder keeps it."""

    name: str
    folder: str
    study: Study
    made_with: Mapping[str, Any] | None


@dataclass(frozen=True)
class ComparedMeasures:
    """The definitions to compare by the names that they were asked by, and what is to be said about the choice."""

    named: Mapping[str, Definition]
    asked: bool
    notes: tuple[str, ...] = ()


def check_comparison(folder: ResultFolder, tally: Tally, progress: Progress | None = None) -> None:
    """Recompute everything that a comparison folder says."""
    manifest = folder.manifest
    systems = [_system(folder.path, entry) for entry in manifest["systems"]]
    _check_manifest(manifest, systems, tally)
    made_with = [system.made_with for system in systems if system.made_with is not None]
    choice = choice_of(manifest["options"], made_with, PROFILES[_profile_name(manifest)])
    notes, shared = _aligned(systems, manifest["options"]["on_mismatch"], tally)
    compared, missing = _comparable(choice, shared)
    expected = _expected(manifest, shared, compared, tally, progress)
    expected["notes"] = [*notes, *choice.notes, *missing, *few(manifest["resamples"])]
    report = folder.comparison
    compare("comparison.json", report, {key: expected[key] for key in report if key in expected}, tally)
    tally.exact("comparison.json: keys", sorted(report), sorted(expected))
    _check_files(folder, report, shared, compared, tally)


def _system(path: Path, entry: Mapping[str, Any]) -> ComparedSystem:
    place = str(entry["folder"])
    if NAME.fullmatch(place) is None or place.startswith("."):
        raise InputError(f"a system lies in a folder of no plain name: {place[:40]!r}")
    kept = ResultFolder(path / "systems" / place)
    return ComparedSystem(
        str(entry["name"]), place, Study(read_plain_queries(kept), read_tune(kept)), entry["made_with"]
    )


def _check_manifest(manifest: Mapping[str, Any], systems: Sequence[ComparedSystem], tally: Tally) -> None:
    """The manifest says nothing that nobody looks at, and its inputs are those of the systems, in their order."""
    options = OPTIONS | forms(*said_of_bootstrap(manifest["options"]))
    check_form("manifest.json", manifest, MANIFEST | {"options": options}, tally)
    tally.exact("manifest.json: profile", manifest["profile"], _profile_name(manifest))
    options = manifest["options"]
    deciding = [] if options["profile"] is not None else ["profile"]
    deciding += [] if isinstance(options["measures"], list) else ["dual", "k", "measures"]
    for entry in manifest["systems"]:
        settings = entry["made_with"]
        if settings is not None:
            tally.exact("manifest.json: systems: made_with: keys", sorted(settings), sorted(deciding))
            tally.exact("manifest.json: systems: made_with: dual is yes or no", type(settings.get("dual", False)), bool)
            profile = settings.get("profile", manifest["profile"])
            tally.exact("manifest.json: systems: made_with: profile", profile, manifest["profile"])
    roles = list(dict.fromkeys(entry["role"] for entry in manifest["inputs"]))
    tally.exact("manifest.json: inputs: roles", roles, [system.name for system in systems])
    for system in systems:
        _check_inputs(system, [entry for entry in manifest["inputs"] if entry["role"] == system.name], tally)


def _check_inputs(system: ComparedSystem, inputs: Sequence[Mapping[str, Any]], tally: Tally) -> None:
    """The files that a system was read from: those of a result, whose rows are here, or any."""
    where = f"manifest.json: inputs: {system.name}"
    if system.made_with is None:
        return
    tally.exact(f"{where}: files without a hash", sum(entry["sha256"] is None for entry in inputs), 0)
    rows = {entry["name"]: entry["rows"] for entry in inputs}
    tally.exact(f"{where}: names", list(rows), [name for name in KEPT if name in rows])
    tally.exact(f"{where}: rows of per_query.csv", rows.get("per_query.csv"), len(system.study.queries))
    if system.study.tune:
        tally.exact(f"{where}: rows of tune.parquet", rows.get("tune.parquet"), len(system.study.tune))


def _profile_name(manifest: Mapping[str, Any]) -> str:
    """The profile that was named, else that of the results."""
    made_with = [entry["made_with"] for entry in manifest["systems"] if entry["made_with"] is not None]
    return str(
        manifest["options"]["profile"]
        or next((settings["profile"] for settings in made_with if "profile" in settings), "contract")
    )


def choice_of(options: Mapping[str, Any], made_with: Sequence[Mapping[str, Any]], profile: Profile) -> ComparedMeasures:
    """The measures that were named, else those that the results were made with, or the main ones, where all have them."""
    measures = options["measures"]
    if isinstance(measures, list):
        return ComparedMeasures({name: resolve(name, profile).definition for name in measures}, asked=True)
    explicit = any(settings["measures"] is not None for settings in made_with)
    asked = [_own(settings, profile) for settings in made_with or ({"measures": None, "k": None, "dual": False},)]
    if measures == COMPARED_BY_DEFAULT and not explicit:
        depths = [settings["k"] for settings in made_with]
        main = {resolve(name, profile).definition.expanded for name in profile.compared(*depths)}
        asked = [{name: entry for name, entry in names.items() if name in main} for names in asked]
    of_groups = dict.fromkeys(name for names in asked for name, (_, group) in names.items() if group)
    reported = [{d.expanded: (name, d) for name, (d, group) in names.items() if not group} for names in asked]
    shared = dict(entry for key, entry in reported[0].items() if all(key in other for other in reported))
    notes = [f"not compared, because they are of single groups: {', '.join(of_groups)}"] if of_groups else []
    left_out = len(set().union(*reported)) - len(shared)
    if left_out:
        notes.insert(0, _difference(made_with, len(shared), left_out))
    return ComparedMeasures(shared, explicit, tuple(notes))


def _own(settings: Mapping[str, Any], profile: Profile) -> dict[str, tuple[Definition, Any]]:
    """What a result was asked for, by name."""
    if settings["measures"] is not None:
        requests = {name: resolve(name, profile) for name in settings["measures"]}
        return {name: (request.definition, request.group) for name, request in requests.items()}
    return {entry.expanded: (entry, ()) for entry in definitions(profile, settings["k"], dual=bool(settings["dual"]))}


def _difference(made_with: Sequence[Mapping[str, Any]], shared: int, left_out: int) -> str:
    differing = [
        f"--{option}"
        for option in ("measures", "k", "dual")
        if any(settings[option] != made_with[0][option] for settings in made_with)
    ]
    return (
        f"the results were made with different {' and '.join(differing)}: {counted(shared, 'measure')} that all of them "
        f"report are compared, {left_out:,} that only some report are left out"
    )


def _aligned(
    systems: Sequence[ComparedSystem], on_mismatch: str, tally: Tally
) -> tuple[list[str], list[ComparedSystem]]:
    """The systems over the queries that all have, in the order of the first; they agree about the truth."""
    by_key = [{(q.post, q.criterion): q for q in system.study.queries} for system in systems]
    order = [key for key in by_key[0] if all(key in other for other in by_key)]
    notes = []
    for system, mine in zip(systems, by_key, strict=True):
        extra = len(mine) - len(order)
        tally.exact(f"systems/{system.folder}/per_query.csv: different queries", len(system.study.queries), len(mine))
        if extra:
            words = counted(extra, "query", "queries")
            notes.append(f"{system.name}: {words} that not all results have are left out")
    tally.exact(
        "manifest.json: options: on_mismatch allows for what is left out", bool(notes) and on_mismatch == "error", False
    )
    cut = [
        replace(s, study=Study([mine[key] for key in order], s.study.tune))
        for s, mine in zip(systems, by_key, strict=True)
    ]
    for other in cut[1:]:
        pairs = zip(cut[0].study.queries, other.study.queries, strict=True)
        wrong = sum(not _same_truth(first, second) for first, second in pairs)
        tally.exact(f"systems/{other.folder}/per_query.csv: queries of another truth than the baseline's", wrong, 0)
    return notes, cut


def _same_truth(first: Query, second: Query) -> bool:
    golds = [sorted(query.gold) for query in (first, second) if query.gold is not None]
    return first.label == second.label and (len(golds) < 2 or golds[0] == golds[1])


def _comparable(choice: ComparedMeasures, systems: Sequence[ComparedSystem]) -> tuple[list[Definition], list[str]]:
    """What can be compared, and where measures were asked for, a note about those that cannot."""
    counts = [name for name, d in choice.named.items() if d.measure.family == "counts"]
    lacking = [
        name for name, d in choice.named.items() if any(unmet(system.study, d) is not None for system in systems)
    ]
    reasons = {"they count what all results share": counts, "not every result has what it needs": lacking}
    notes = [f"not compared, because {reason}: {', '.join(names)}" for reason, names in reasons.items() if names]
    compared = {d.expanded: d for name, d in choice.named.items() if name not in {*counts, *lacking}}
    return list(compared.values()), notes if choice.asked else []


def _expected(
    manifest: Mapping[str, Any],
    systems: Sequence[ComparedSystem],
    compared: Sequence[Definition],
    tally: Tally,
    progress: Progress | None,
) -> dict[str, Any]:
    options = manifest["options"]
    bootstrap = options.get("bootstrap", EXACT)
    tally.exact("manifest.json: options: bootstrap", bootstrap in {EXACT, POISSON}, True)
    asked = options["alpha"], options["ci"], manifest["resamples"], manifest["seed"], bootstrap == POISSON
    terms = Terms(PROFILES[_profile_name(manifest)], *asked)
    queries = systems[0].study.queries
    families = families_of(compared, terms.profile, list(dict.fromkeys(query.criterion for query in queries)))
    wants = tuple(want for part in families.values() for want in part)
    sides = [Side(system.name, system.study, wants, terms) for system in systems]
    drawn = [side.replicates(progress) for side in sides]
    for side, values in zip(sides, drawn, strict=True):
        side.check_loop(values, tally)
    at = range(1, len(sides))
    pairs = [(i - 1 if options["design"] == "successive" else 0, i) for i in at]
    deltas: list[dict[str, Any]] = []
    for first, second in pairs:
        differences: dict[Want, Floats] = {want: drawn[second][want] - drawn[first][want] for want in wants}
        contest = Contest(sides[first], sides[second], terms)
        for family, part in families.items():
            deltas += contest.deltas(differences, family, part)
    return {
        "schema": SCHEMA,
        **{"profile": _profile_name(manifest), "systems": [system.name for system in systems]},
        **{"seed": terms.seed, "resamples": terms.resamples, "alpha": terms.alpha},
        **{"queries": len(queries), "posts": len({query.post for query in queries}), "notes": []},
        "interval": {"level": terms.level, "method": "t", "stratified_by_fold": False, **said_of_bootstrap(options)},
        **{"design": options["design"], "deltas": deltas},
    }


def families_of(compared: Sequence[Definition], profile: Profile, criteria: Sequence[str]) -> dict[str, list[Want]]:
    """What p values are corrected over: the measures over all queries, and those of single criteria."""
    named = {resolve(name, profile).definition for name in COMPARED_PER_CRITERION}
    single = [d for d in compared if d in named and not averaged(d)]
    return {
        "measures": [(d, ()) for d in compared],
        "criteria": [(d, (("criterion", criterion),)) for d in single for criterion in criteria],
    }


def few(resamples: int) -> list[str]:
    """A word where standard errors rest on few resamples."""
    rough = f"{resamples:,} resamples give rough standard errors: take 1,000 or more for p values to quote"
    return [rough] if resamples < 200 else []


def _check_files(
    folder: ResultFolder,
    report: Mapping[str, Any],
    systems: Sequence[ComparedSystem],
    compared: Sequence[Definition],
    tally: Tally,
) -> None:
    """Every cell of every table, and that there are the files of such a comparison, and no others."""
    files = {"comparison.json", *(f"systems/{system.folder}/per_query.csv" for system in systems)}
    files.update(check_sheets(folder, delta_sheets(report["deltas"]), tally))
    studies, names = [(s.name, s.study) for s in systems], {delta["name"] for delta in report["deltas"]}
    files.update(check_sheets(folder, sheets_of_systems(studies, names), tally))
    for name, need in (("tune.parquet", "tune"), ("candidates.parquet", "candidates")):
        if any(need in needs(definition) for definition in compared):
            files |= {f"systems/{system.folder}/{name}" for system in systems}
    tally.exact("manifest.json: files", sorted(folder.manifest["files"]), sorted(files))
