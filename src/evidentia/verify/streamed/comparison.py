"""Verify a comparison of results of tables: every difference from the numbers and replicates that the folder keeps of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evidentia.array_types import Floats
from evidentia.errors import InputError
from evidentia.results.catalogue import Definition
from evidentia.results.names import group_suffix
from evidentia.results.profiles import PROFILES
from evidentia.results.sample_size import UNDEFINED_CRITERIA, Sample
from evidentia.verify.comparison import NAME, OPTIONS, SCHEMA, ComparedMeasures, choice_of, families_of, few
from evidentia.verify.course import Course
from evidentia.verify.deltas import Contest, Terms, Want, delta_sheets
from evidentia.verify.folder import ResultFolder
from evidentia.verify.plan import RecomputedNumber, averaged, kind_of, within_criterion
from evidentia.verify.points import Entry
from evidentia.verify.record import STAMP, check_form, forms
from evidentia.verify.sheet import check_sheets
from evidentia.verify.streamed.alone import ReportedPoints, check_entries, read_reported
from evidentia.verify.streamed.record import check_tables_manifest
from evidentia.verify.streamed.replicates import FILE, Written, read_replicates
from evidentia.verify.tally import Tally, compare
from evidentia.verify.twins import twin_of

TABLES_COMPARISON = "evidentia.tables-comparison-manifest/1"
KEPT = ("manifest.json", "summary.json", FILE)
MANIFEST = {
    **forms("schema", "profile", "seed", "resamples", "files", *STAMP),
    "options": OPTIONS | forms("bootstrap"),
    "systems": [forms("folder", "name")],
}
UNCOUNTED = "in how many posts two systems differ is not known, because their rows stayed in the tables"


@dataclass(frozen=True, eq=False)
class WrittenSide:
    """A system as its result was written: numbers, and their values in every replicate."""

    name: str
    folder: ResultFolder
    points: ReportedPoints
    written: Written

    @property
    def truth(self) -> Sequence[Mapping[str, Any]]:
        """What the queries of every criterion are judged against."""
        truth: Sequence[Mapping[str, Any]] = self.folder.manifest["truth"]
        return truth

    @property
    def made_with(self) -> dict[str, Any]:
        """What of the result decides which measures are compared."""
        manifest = self.folder.manifest
        return {"profile": manifest["profile"], **{key: manifest["options"][key] for key in ("measures", "k", "dual")}}

    def holds(self, want: Want) -> bool:
        """Whether the result has a number."""
        return (want[0].expanded, want[1]) in self.points.names

    def values(self, want: Want) -> Floats:
        """A number in every replicate."""
        return self.written[want[0].expanded, group_suffix(want[1])].values

    def sample(self, want: Want) -> Sample:
        """What a number rests on."""
        definition, group = want
        evidence = {entry["criterion"]: entry["with_evidence"] for entry in self.truth}
        positives = evidence[dict(group)["criterion"]] if group else sum(evidence.values())
        twin = twin_of(within_criterion(definition) if averaged(definition) else definition)
        effective = self.written[definition.expanded, group_suffix(group)].effective
        return Sample(self.number(want).clusters, effective, positives, kind_of(definition, twin))

    def number(self, want: Want) -> RecomputedNumber:
        """The number that is reported."""
        return self.points.number(Entry("", *want))

    def reservations(self, want: Want, number: RecomputedNumber) -> list[str]:
        """What the number does not cover."""
        warnings = self.points.reported[self.points.names[want[0].expanded, want[1]]]["warnings"]
        return [words for words in warnings if words.endswith(UNDEFINED_CRITERIA)]

    def post_sums(self, want: Want) -> None:
        """What every post adds is not in such a result."""


def verify_tables_comparison(folder: ResultFolder, course: Course) -> None:
    """Recompute everything that such a folder says, as far as its own files tell."""
    course.check("comparison", lambda tally: check_tables_comparison(folder, tally))
    *others, last = (str(entry["name"]) for entry in folder.manifest["systems"])
    course.in_part.append(
        f"The values and replicates of {', '.join(others)} and {last} were taken as their results hold them: verify each of "
        "these with its tables."
    )


def check_tables_comparison(folder: ResultFolder, tally: Tally) -> None:
    """Every difference from the written replicates, every table, every word."""
    manifest, report = folder.manifest, folder.comparison
    check_form("manifest.json", manifest, MANIFEST, tally)
    sides = [_side(folder.path, entry, tally) for entry in manifest["systems"]]
    _check_pairing(manifest, sides, tally)
    options, made_with = manifest["options"], [side.made_with for side in sides]
    profile = PROFILES[options["profile"] or made_with[0]["profile"]]
    tally.exact("manifest.json: profile", manifest["profile"], profile.name)
    choice = choice_of(options, made_with, profile)
    compared, missing = _comparable(choice, sides)
    terms = Terms(profile, options["alpha"], options["ci"], manifest["resamples"], manifest["seed"], poisson=True)
    summary = sides[0].folder.summary
    expected = {
        "schema": SCHEMA,
        **{"profile": profile.name, "systems": [side.name for side in sides]},
        **{"seed": terms.seed, "resamples": terms.resamples, "alpha": terms.alpha},
        **{"queries": summary["dataset"]["queries"], "posts": summary["dataset"]["posts"]},
        "notes": [*choice.notes, *missing, *few(terms.resamples), UNCOUNTED],
        "interval": {"level": terms.level, "method": "t", "stratified_by_fold": False, "bootstrap": "poisson"},
        **{"design": options["design"], "deltas": _deltas(sides, compared, terms, options["design"])},
    }
    compare("comparison.json", report, {key: expected[key] for key in report if key in expected}, tally)
    tally.exact("comparison.json: keys", sorted(report), sorted(expected))
    files = {"comparison.json", *check_sheets(folder, delta_sheets(report["deltas"]), tally)}
    files.update(f"systems/{entry['folder']}/{name}" for entry in manifest["systems"] for name in KEPT)
    tally.exact("manifest.json: files", sorted(manifest["files"]), sorted(files))


def _side(path: Path, entry: Mapping[str, Any], tally: Tally) -> WrittenSide:
    """A system, whose files are those that its own manifest lists and agree with each other."""
    place = str(entry["folder"])
    if NAME.fullmatch(place) is None or place.startswith("."):
        raise InputError(f"a system lies in a folder of no plain name: {place[:40]!r}")
    kept, own = ResultFolder(path / "systems" / place), Tally()
    for name in KEPT[1:]:
        own.exact(f"{name}: SHA-256", kept.manifest["files"].get(name), kept.sha256(name))
    own.exact("manifest.json: schema", kept.manifest["schema"], "evidentia.tables-manifest/2")
    check_tables_manifest(kept, own)
    points = read_reported(kept, own)
    check_entries(kept.summary, points, own)
    written = read_replicates(kept, own)
    tally.comparisons += own.comparisons
    tally.mismatches += [replace(each, where=f"systems/{place}/{each.where}") for each in own.mismatches]
    return WrittenSide(str(entry["name"]), kept, points, written)


def _check_pairing(manifest: Mapping[str, Any], sides: Sequence[WrittenSide], tally: Tally) -> None:
    """All systems have the weights that the comparison speaks of, and judged the same queries against the same gold."""
    tally.exact("manifest.json: options: on_mismatch", manifest["options"]["on_mismatch"], "error")
    tally.exact("manifest.json: options: bootstrap", manifest["options"]["bootstrap"], "poisson")
    tally.exact("manifest.json: systems: different names", len({side.name for side in sides}), len(sides))
    first = [dict(entry) for entry in sides[0].truth]
    for side in sides:
        where, summary = f"systems/{side.folder.path.name}", side.folder.summary
        tally.exact(f"{where}/summary.json: interval: bootstrap", summary["interval"]["bootstrap"], "poisson")
        for key in ("seed", "resamples"):
            tally.exact(f"manifest.json: {key}", manifest[key], summary[key])
        truth = [_as_known(entry, other) for entry, other in zip(side.truth, first, strict=True)]
        compare(f"{where}/manifest.json: truth", truth, first, tally)


def _as_known(entry: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a criterion; where one of two does not know the gold sentences, they cannot differ."""
    known = entry["gold_hash"] is not None and other["gold_hash"] is not None
    return dict(entry) if known else {**entry, "gold_hash": other["gold_hash"]}


def _comparable(choice: ComparedMeasures, sides: Sequence[WrittenSide]) -> tuple[list[Definition], list[str]]:
    """What all systems hold, and where measures were asked for, a note about those that are not compared."""
    counts = [name for name, d in choice.named.items() if d.measure.family == "counts"]
    lacking = [name for name, d in choice.named.items() if not all(side.holds((d, ())) for side in sides)]
    reasons = {"they count what all results share": counts, "not every result holds them": lacking}
    notes = [f"not compared, because {reason}: {', '.join(names)}" for reason, names in reasons.items() if names]
    compared = {d.expanded: d for name, d in choice.named.items() if name not in {*counts, *lacking}}
    return list(compared.values()), notes if choice.asked else []


def _deltas(
    sides: Sequence[WrittenSide], compared: Sequence[Definition], terms: Terms, design: str
) -> list[dict[str, Any]]:
    families = families_of(compared, terms.profile, [entry["criterion"] for entry in sides[0].truth])
    single = {d for d, _ in families["criteria"]}
    whole = {d for d in single if all(side.holds(w) for side in sides for w in families["criteria"] if w[0] == d)}
    families["criteria"] = [want for want in families["criteria"] if want[0] in whole]
    deltas: list[dict[str, Any]] = []
    for at in range(1, len(sides)):
        baseline, system = sides[at - 1 if design == "successive" else 0], sides[at]
        contest = Contest(baseline, system, terms)
        for family, wants in families.items():
            differences = {want: system.values(want) - baseline.values(want) for want in wants}
            deltas += contest.deltas(differences, family, wants)
    return deltas
