"""Verify the tables of an ablation: every figure from its step, every gain from its comparison, the spread from the other seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import stdev
from typing import Any

from evidentia.errors import InputError
from evidentia.results.catalogue import resolve
from evidentia.results.profiles import PROFILES
from evidentia.verify.calibrators import calibrated
from evidentia.verify.evidence import read_plain_queries, read_tune
from evidentia.verify.files import check_log
from evidentia.verify.folder import ResultFolder, as_numbers, naturally, read_json
from evidentia.verify.plan import Planner
from evidentia.verify.record import LIBRARIES, SHA256, TIME, VERSION, check_form, forms
from evidentia.verify.sheet import Cell, Sheet, check_csv
from evidentia.verify.study import Study
from evidentia.verify.tally import Tally, compare
from evidentia.verify.tuning import posts_sha256

ABLATION = "evidentia.ablation-manifest/2"
SCHEMA = "evidentia.ablation/1"
SHARED = ("nDCG@10", "AUROC", "AUPRC", "Recall@10", "MRR", "Brier")
SELECTION = ("EvidenceRecall", "EvidencePrecision", "SelectedK(given=gate)")
STATES = ("ScreeningSensitivity", "AlertPrecision", "AlertsPer1000")
FIGURES = {
    "baseline: words of a sentence": SHARED,
    **dict.fromkeys(("retriever", "+ reranker", "+ graph reranker"), SHARED),
    **dict.fromkeys(("+ dynamic K", "+ no-evidence gate"), (*SHARED, *SELECTION)),
    "+ three-state gate": (*SHARED, *SELECTION, *STATES),
}
SELECTS = {(False, False): "nothing", (True, True): "all", (True, False): "states"}
BASELINE = next(iter(FIGURES))
TABLES = ("per_query.parquet", "candidates.parquet", "tune.parquet", "thresholds.json", "tuned.json")
OWN = ("ablation.json", "ablation.csv", "ablation.md", "gamma_sweep.csv", "threshold_grid.csv")
LONG = (
    *("configuration", "measure", "value", "ci_low", "ci_high", "fold_mean", "fold_std", "seed_std"),
    *("delta", "delta_low", "delta_high", "n"),
)
MANIFEST = {
    **forms(
        "schema", "seeds", "files", "config", "identity", "inputs", "posts", "sentences", "criteria", "folds", "seconds"
    ),
    **{"config_sha256": SHA256, "finished": TIME},
}


@dataclass(frozen=True, eq=False)
class AblationFolder:
    """An ablation as its folder holds it."""

    path: Path

    @cached_property
    def content(self) -> dict[str, Any]:
        """The content of ``ablation.json``."""
        return ResultFolder(self.path).ablation

    @cached_property
    def steps(self) -> dict[str, str]:
        """The configurations that the folder holds, with their places, by their own numbers and words."""
        titles = {_short(name): name for name in FIGURES}
        places = sorted(path.name for path in self.path.glob("steps/*-*"))
        numbered = [re.fullmatch(r"([0-9])-(.+)", place) for place in places]
        return {titles[entry[2]]: f"steps/{entry[0]}" for entry in numbered if entry is not None and entry[2] in titles}

    @cached_property
    def results(self) -> dict[str, ResultFolder]:
        """The result of every configuration."""
        return {name: ResultFolder(self.path / place / "result") for name, place in self.steps.items()}

    @property
    def last(self) -> ResultFolder:
        """The result of the whole pipeline."""
        return list(self.results.values())[-1]

    @property
    def comparisons(self) -> dict[str, list[str]]:
        """The comparisons that there must be, with the configurations that each compares."""
        if not self.results or not self.last.summary["resamples"]:
            return {}
        later = [name for name in self.steps if name != BASELINE]
        collected = {
            "comparison-ranking": later,
            "comparison-selection": [n for n in later if len(FIGURES[n]) > len(SHARED)],
        }
        return collected | ({"comparison-baseline": [BASELINE, later[-1]]} if BASELINE in self.steps else {})

    @property
    def nested(self) -> list[str]:
        """The folders that are verified by themselves."""
        return [*(f"{place}/result" for place in self.steps.values()), *self.comparisons]


def check_ablation(ablation: AblationFolder, tally: Tally) -> None:
    """Compare everything that an ablation says with its steps, its comparisons and its other seeds."""
    folder = ResultFolder(ablation.path)
    places = [f"steps/{number}-{_short(name)}" for number, name in enumerate(ablation.steps)]
    tally.exact("steps: configurations", list(ablation.steps), [name for name in FIGURES if name in ablation.steps])
    tally.exact("steps: the whole pipeline is the last", list(ablation.steps)[-1:], list(FIGURES)[-1:])
    tally.exact("steps: folders", list(ablation.steps.values()), places)
    _check_manifest(ablation, folder.manifest, tally)
    check_log(folder, tally)
    expected = _expected(ablation, folder.manifest["seeds"])
    compare("ablation.json", ablation.content, expected, tally)
    for sheet in _sheets(expected):
        check_csv(folder, sheet, tally)
    for name, result in ablation.results.items():
        check_tuned(result, SELECTS[len(FIGURES[name]) > len(SHARED), name == "+ dynamic K"], tally)
    for name, systems in ablation.comparisons.items():
        _check_systems(ablation, name, systems, tally)


def _short(name: str) -> str:
    """The words of a configuration in the name of its folder."""
    return name.removeprefix("+ ").partition(":")[0].replace(" ", "-")


def _check_manifest(ablation: AblationFolder, manifest: Mapping[str, Any], tally: Tally) -> None:
    """Counts of the corpus that the steps hold too, and the list of files."""
    versions = LIBRARIES | dict.fromkeys(manifest["versions"], VERSION)
    check_form("manifest.json", manifest, MANIFEST | {"versions": versions}, tally)
    queries = read_plain_queries(ablation.last)
    posts: dict[str, set[str]] = {}
    for query in queries:
        posts.setdefault(str(query.fold), set()).add(query.post)
    folds = {fold: len(posts[fold]) for fold in as_numbers(posts)}
    tally.exact("manifest.json: folds", {k: manifest["folds"][k] for k in as_numbers(manifest["folds"])}, folds)
    tally.exact("manifest.json: posts", manifest["posts"], len({query.post for query in queries}))
    criteria = list(naturally({query.criterion for query in queries}))
    tally.exact("manifest.json: criteria", list(naturally(manifest["criteria"])), criteria)
    protocol = manifest["config"]["protocol"]
    seeds = [protocol["seed"] + at for at in range(len(manifest["seeds"]))]
    tally.exact("manifest.json: seeds", manifest["seeds"], seeds)
    tally.exact("manifest.json: config: protocol: folds", protocol["folds"], len(folds))
    files = {*OWN, *(f"{place}/{name}" for place in ablation.steps.values() for name in TABLES)}
    files |= {f"{name}/manifest.json" for name in ablation.nested}
    files |= {f"spread/{seed}/{Path(place).name}.csv" for seed in seeds[1:] for place in ablation.steps.values()}
    tally.exact("manifest.json: files", sorted(manifest["files"]), sorted(files))


def _expected(ablation: AblationFolder, seeds: Sequence[int]) -> dict[str, Any]:
    gains = _gains(ablation)
    rows = []
    for name, place in ablation.steps.items():
        measures = ablation.results[name].summary["measures"]
        figures = {figure: _figure(measures[figure]) for figure in FIGURES[name] if figure in measures}
        others = [_planner(ablation.path, f"spread/{seed}/{Path(place).name}.csv") for seed in seeds[1:]]
        for figure, entry in figures.items():
            values = [entry["value"], *(_value(planner, figure) for planner in others)]
            entry["seed_std"] = stdev(values) if len(values) > 1 else None
        rows.append({"configuration": name, "folder": place, "figures": figures, "deltas": gains.get(name, {})})
    return {
        **{"schema": SCHEMA, "seeds": list(seeds), "configurations": rows},
        **{"gamma_sweep": _gamma(ablation.last), "threshold_grid": _grid(ablation)},
    }


def _figure(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry[key] for key in ("value", "ci", "fold_mean", "fold_std", "n")}


def _planner(path: Path, name: str) -> Planner:
    return Planner(Study(read_plain_queries(ResultFolder(path), name=name)))


def _value(planner: Planner, figure: str) -> float:
    return planner.number(resolve(figure, PROFILES["contract"]).definition, ()).value


def _gains(ablation: AblationFolder) -> dict[str, dict[str, Any]]:
    """What each configuration gained over the one before it, as the comparisons say, which are verified by themselves."""
    gains: dict[str, dict[str, Any]] = {}
    for name in [name for name in ablation.comparisons if name != "comparison-baseline"]:
        for delta in ResultFolder(ablation.path / name).comparison["deltas"]:
            if delta["family"] == "measures" and delta["delta"] is not None:
                gain = {"delta": delta["delta"], "ci": delta["ci"]}
                gains.setdefault(delta["system"], {})[delta["name"]] = gain
    return gains


def _gamma(result: ResultFolder) -> list[dict[str, Any]]:
    if not result.has("figures/gamma_sweep.csv"):
        return []
    return [{key: _number(cell) for key, cell in row.items()} for row in result.rows("figures/gamma_sweep.csv")]


def _number(cell: str) -> int | float | None:
    if cell == "":
        return None
    return int(cell) if re.fullmatch(r"-?[0-9]+", cell) else float(cell)


def _grid(ablation: AblationFolder) -> list[dict[str, Any]]:
    """What other pairs of thresholds reach on TUNE, fold by fold."""
    points = []
    for fold in ablation.last.thresholds["folds"]:
        grid = (fold["three_state"] or {}).get("grid", {})
        points += [
            {"fold": fold["fold"], **dict(zip(grid, row, strict=True))} for row in zip(*grid.values(), strict=True)
        ]
    return points


def _sheets(expected: Mapping[str, Any]) -> list[Sheet]:
    lines: list[tuple[Cell, ...]] = []
    for row in expected["configurations"]:
        for name, entry in row["figures"].items():
            gain = row["deltas"].get(name, {"delta": None, "ci": None})
            limits = (*(entry["ci"] or (None, None)), entry["fold_mean"], entry["fold_std"], entry["seed_std"])
            gained = (gain["delta"], *(gain["ci"] or (None, None)))
            lines.append((row["configuration"], name, entry["value"], *limits, *gained, entry["n"]))
    collected = [Sheet("ablation", LONG, tuple(lines))]
    for name in ("gamma_sweep", "threshold_grid"):
        points = expected[name]
        collected.append(
            Sheet(name, tuple(points[0]) if points else (), tuple(tuple(point.values()) for point in points))
        )
    return collected


def _check_systems(ablation: AblationFolder, name: str, systems: Sequence[str], tally: Tally) -> None:
    """A comparison is about the configurations that it names, and holds the queries of their results."""
    manifest = ResultFolder(ablation.path / name).manifest
    summary = ablation.last.summary
    tally.exact(f"{name}: systems", [entry["name"] for entry in manifest["systems"]], list(systems))
    tally.exact(f"{name}: resamples", manifest["resamples"], summary["resamples"])
    design = "against first" if name == "comparison-baseline" else "successive"
    tally.exact(f"{name}: design", manifest["options"]["design"], design)
    measures = SELECTION if name == "comparison-selection" else SHARED
    tally.exact(f"{name}: measures", manifest["options"]["measures"], list(measures))
    for entry in manifest["systems"]:
        kept = read_plain_queries(ResultFolder(ablation.path / name / "systems" / str(entry["folder"])))
        own = read_plain_queries(ablation.results[entry["name"]])
        same = [replace(entry, candidates=None) for entry in kept] == [replace(entry, candidates=None) for entry in own]
        tally.exact(f"{name}: {entry['name']}: the queries of its step", same, True)


def open_ablation(path: Path) -> AblationFolder:
    """The ablation of a folder; refused where its first file cannot be read."""
    ablation = AblationFolder(path)
    _ = ablation.content
    if not ablation.steps:
        raise InputError(f"{path.resolve().name} has no steps, so there is nothing to verify.")
    return ablation


def check_tuned(result: ResultFolder, applies_to: str, tally: Tally) -> None:
    """Compare the tuned.json beside a result with its TUNE posts and its candidates."""
    step = result.path.parent
    where, document = f"steps/{step.name}/tuned.json", read_json(step / "tuned.json")
    posts: dict[str, set[str]] = {}
    for query in read_tune(result):
        posts.setdefault(str(query.fold), set()).add(query.post)
    tally.exact(f"{where}: keys", sorted(document), ["folds", "schema"])
    tally.exact(f"{where}: schema", document["schema"], "evidentia.tuned/1")
    tally.exact(f"{where}: folds", [entry["fold"] for entry in document["folds"]], list(as_numbers(posts)))
    for entry in document["folds"]:
        place, origin = f"{where}: fold {entry['fold']}", entry["tuned_on"]
        keys = ["fold", *(["keep"] if "keep" in entry else []), "node_calibrator", "selection", "tuned_on"]
        tally.exact(f"{place}: keys", sorted(entry), keys)
        _check_cuts(place, entry, result, tally)
        tally.exact(f"{place}: selection: applies_to", entry["selection"]["applies_to"], applies_to)
        tally.exact(f"{place}: tuned_on: posts", sorted(origin["posts"]), sorted(posts[str(entry["fold"])]))
        tally.exact(f"{place}: tuned_on: posts_sha256", origin["posts_sha256"], posts_sha256(origin["posts"]))
        _check_calibrator(place, entry, result, tally)


def _check_cuts(place: str, entry: Mapping[str, Any], result: ResultFolder, tally: Tally) -> None:
    """No ranking is longer than a cut that was chosen on TUNE lets through; the retriever's own is as long as it can be."""
    for step, keep in entry.get("keep", {}).items():
        queries = [query for query in read_plain_queries(result) if str(query.fold) == str(entry["fold"])]
        longest = max((len(query.ranked or ()) for query in queries), default=0)
        tally.exact(f"{place}: keep: {step}: is kept to", longest <= keep, True)


def _check_calibrator(place: str, entry: Mapping[str, Any], result: ResultFolder, tally: Tally) -> None:
    """The node probability of every candidate that was ranked; one that was cut off has none to share."""
    how = entry["node_calibrator"]
    ranked = {(query.post, query.criterion): set(query.ranked or ()) for query in read_plain_queries(result)}
    rows = [row for row in result.records("candidates.parquet") if str(row["fold"]) == entry["fold"]]
    probs = calibrated(how["method"], how["parameters"], [row["score"] for row in rows], is_prob=False).tolist()
    for row, prob in zip(rows, probs, strict=True):
        kept = row["sent_uid"] in ranked[str(row["post_id"]), str(row["criterion_id"])]
        tally.number(f"{place}: node_prob of {row['sent_uid']}", row["node_prob"], prob if kept else 0.0)
