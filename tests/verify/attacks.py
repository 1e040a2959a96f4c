"""Ways to make a folder say what is not so. The attacker knows the layout, and renews every hash that he can."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

Attack = Callable[[Path], object]


def renewed(attack: Attack) -> Attack:
    """An attack after which every manifest, and what was verified of it, is about the files as they are now."""

    def made(folder: Path) -> None:
        attack(folder)
        for manifest in sorted(folder.rglob("manifest.json"), key=lambda path: -len(path.parts)):
            renew(manifest)

    return made


def renew(manifest: Path) -> None:
    content = json.loads(manifest.read_text(encoding="utf-8"))
    home = manifest.parent
    kept = {name for name in content["files"] if (home / name).is_file()}
    content["files"] = {name: sha256(home / name) for name in content["files"] if name in kept}
    manifest.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    verification = home / "verification.json"
    if verification.is_file():
        text = verification.read_text(encoding="utf-8")
        told = re.sub(r'("manifest_sha256": ")[0-9a-f]+', rf"\g<1>{sha256(manifest)}", text)
        verification.write_text(told, encoding="utf-8")


def listed(*names: str) -> Attack:
    """Put files onto the list of the manifest."""

    def attack(folder: Path) -> None:
        path = folder / "manifest.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        content["files"] |= {name: sha256(folder / name) for name in names}
        path.write_text(json.dumps(content), encoding="utf-8")

    return attack


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def both(*attacks: Attack) -> Attack:
    return lambda folder: [attack(folder) for attack in attacks]


def document(name: str, change: Callable[[Any], object]) -> Attack:
    def attack(folder: Path) -> None:
        path = folder / name
        content = json.loads(path.read_text(encoding="utf-8"))
        before = json.dumps(content)
        change(content)
        assert json.dumps(content) != before, "the attack must change something"
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    return attack


def put(name: str, *keys: str | int, value: object) -> Attack:
    """Another value at a place of a JSON document."""

    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return document(name, change)


def text(name: str, old: str, new: str) -> Attack:
    """Other words, where the first match of a pattern is."""

    def attack(folder: Path) -> None:
        path = folder / name
        before = path.read_text(encoding="utf-8")
        after = re.sub(old, new, before, count=1)
        assert after != before, "the attack must change something"
        path.write_text(after, encoding="utf-8")

    return attack


def cell(name: str, row: int, column: str, value: str) -> Attack:
    def attack(folder: Path) -> None:
        path = folder / name
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        at = rows[0].index(column)
        assert rows[row][at] != value, "the attack must change something"
        rows[row][at] = value
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)

    return attack


def frame(name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Attack:
    def attack(folder: Path) -> None:
        before = pl.read_parquet(folder / name)
        after = change(before)
        assert not after.equals(before), "the attack must change something"
        after.write_parquet(folder / name)

    return attack


def add(name: str, content: bytes = b"a claim\n") -> Attack:
    def attack(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)

    return attack


def delete(*names: str) -> Attack:
    return lambda folder: [(folder / name).unlink() for name in names]


def swap(one: str, other: str) -> Attack:
    def attack(folder: Path) -> None:
        first, second = (folder / one).read_bytes(), (folder / other).read_bytes()
        assert first != second
        (folder / one).write_bytes(second)
        (folder / other).write_bytes(first)

    return attack


def copy(source: str, target: str) -> Attack:
    return lambda folder: shutil.copyfile(folder / source, folder / target)


def rename(source: str, target: str) -> Attack:
    return lambda folder: (folder / source).rename(folder / target)


def link(name: str) -> Attack:
    """The same bytes, but somewhere else."""

    def attack(folder: Path) -> None:
        away = folder.parent / f"away-{Path(name).name}"
        (folder / name).rename(away)
        (folder / name).symlink_to(away)

    return attack


def folder(name: str) -> Attack:
    return lambda place: (place / name).mkdir(parents=True)


def pipe(name: str) -> Attack:
    """A file that never ends, for who opens it."""

    def attack(place: Path) -> None:
        (place / name).unlink()
        os.mkfifo(place / name)

    return attack


def twice(name: str, key: str, value: str) -> Attack:
    """A key before the one that is there: some readers take the first, some the last."""
    return text(name, f'"{key}":', f'"{key}": {value}, "{key}":')


def darker(name: str) -> Attack:
    """A PNG with another first pixel row, and a checksum that fits."""

    def attack(place: Path) -> None:
        _repack(place / name, lambda raw: raw[:1] + bytes(255 - value for value in raw[1:5]) + raw[5:])

    return attack


def _repack(path: Path, change: Callable[[bytes], bytes]) -> None:
    data = path.read_bytes()
    at = data.index(b"IDAT") - 4
    size = int.from_bytes(data[at : at + 4], "big")
    assert data[at + 12 + size + 4 : at + 12 + size + 8] == b"IEND", "one chunk of pixels"
    packed = zlib.compress(change(zlib.decompress(data[at + 8 : at + 8 + size])), 1)
    chunk = len(packed).to_bytes(4, "big") + b"IDAT" + packed + zlib.crc32(b"IDAT" + packed).to_bytes(4, "big")
    path.write_bytes(data[:at] + chunk + data[at + 12 + size :])


def repacked(name: str) -> Attack:
    """The same pixels in other bytes, which is no attack."""

    def change(place: Path) -> None:
        _repack(place / name, lambda raw: raw)

    return change


def _flip(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    first = pl.int_range(pl.len()) == 0
    return lambda f: f.with_columns(pl.when(first).then(1 - pl.col(column)).otherwise(pl.col(column)).alias(column))


# On results without a report: nothing but the recomputation can notice these.
EVALUATION: dict[str, Attack] = {
    "a value": put("summary.json", "measures", "AUROC", "value", value=0.9999),
    "a limit": put("summary.json", "measures", "AUROC", "ci", 0, value=0.9),
    "an n": put("summary.json", "measures", "AUROC", "n", value=14_770),
    "a warning taken away": put("summary.json", "measures", "AUROC", "warnings", value=[]),
    "a definition": put("summary.json", "measures", "AUROC", "definition", value="AUROC(level=candidate,avg=pooled)"),
    "a value of a criterion": put("summary.json", "measures", "AUROC[criterion=A.1]", "value", value=0.9999),
    "a measure added": document("summary.json", lambda c: c["measures"].update(Truth=c["measures"]["AUROC"])),
    "a measure taken away": document("summary.json", lambda c: c["measures"].pop("ECE")),
    "two measures exchanged": document(
        "summary.json", lambda c: c["measures"].update(AUROC=c["measures"]["AUPRC"], AUPRC=c["measures"]["AUROC"])
    ),
    "a check that failed passes": document(
        "summary.json", lambda c: next(o for o in c["checks"] if o["status"] != "passed").update(status="passed")
    ),
    "a check taken away": document("summary.json", lambda c: c["checks"].pop()),
    "more posts": put("summary.json", "dataset", "posts", value=1477),
    "a key of its own": put("summary.json", "external_validation", value=True),
    "a duplicate key in summary.json": twice("summary.json", "resamples", "10000"),
    "a duplicate key inside a measure": text("summary.json", r'"AUROC": \{', '"AUROC": {"value": 0.9999, '),
    "a duplicate key in manifest.json": twice("manifest.json", "seed", "1"),
    "NaN": text("summary.json", r'"fold_std": 0\.[0-9e-]+', '"fold_std": NaN'),
    "a cell of a table": cell("tables/measures.csv", 5, "value", "0.9999"),
    "a header of a table": text("tables/measures.csv", "^measure,value", "measure,score"),
    "a row of a table taken away": text("tables/measures.csv", r"\nAUROC,[^\n]*", ""),
    "a number in LaTeX": text("tables/measures.tex", r"0\.[0-9]{4}", "0.9999"),
    "two tables exchanged": swap("tables/criteria.csv", "tables/folds.csv"),
    "a point of a figure": cell("figures/roc.csv", 2, "fpr", "0.9"),
    "two figures exchanged": swap("figures/roc.csv", "figures/pr.csv"),
    "a probability": cell("per_query.csv", 3, "prob", "0.123"),
    "a label": cell("per_query.csv", 1, "has_evidence", "true"),
    "a query taken away": text("per_query.csv", r"\n[^\n]+\n$", "\n"),
    "a value of a query": cell("per_query.csv", 2, "nDCG@10", "0.77"),
    "TUNE rows taken away": frame("tune.parquet", lambda f: f.head(len(f) - 1)),
    "a candidate's score": frame("candidates.parquet", lambda f: f.with_columns(score=-pl.col("score"))),
    "the seed": both(put("summary.json", "seed", value=8), put("manifest.json", "seed", value=8)),
    "a threshold of the manifest": put("manifest.json", "thresholds", 0, "tune_fpr", value=0.75),
    "an option of the manifest": put("manifest.json", "options", "dual", value=True),
    "a key of its own in the manifest": put("manifest.json", "approved_by", value="somebody"),
    "a file taken away": delete("tables/confusion.csv"),
    "a file taken away, and its LaTeX": delete("tables/confusion.csv", "tables/confusion.tex"),
    "a table added": add("tables/external.csv"),
    "a table added to the list too": both(add("tables/external.csv"), listed("tables/external.csv")),
    "a hidden file": add(".notes"),
    "a hidden file among the tables": add("tables/.DS_Store"),
    "an empty folder": folder("external"),
    "a folder with a file": add("external/claims.csv"),
    "a file under another name": rename("tables/criteria.csv", "tables/criteria2.csv"),
    "capital letters": rename("tables/criteria.csv", "tables/Criteria.csv"),
    "a link to a file": link("per_query.csv"),
    "a link to the manifest": link("manifest.json"),
    "a link to a folder": link("tables"),
    "a link beside": lambda place: (place / "more").symlink_to(place / "tables"),
    "a pipe": pipe("tables/measures.csv"),
    "a pipe for a summary": pipe("summary.json"),
    "a result inside": lambda place: shutil.copytree(place / "tables", place / "result"),
}
# On results with a report in all formats, verified.
REPORT: dict[str, Attack] = {
    "a number in Markdown": text("report.md", r"0\.[0-9]{4}", "0.9999"),
    "a number in the LaTeX document": text("report.tex", r"0\.[0-9]{4}", "0.9999"),
    "a number in the page": text("report.html", r'(data-of="AUROC" [^>]*>)0\.[0-9]{4}', r"\g<1>0.9999"),
    "the verdict of the page": text("report.html", "Independently verified", "Clinically validated"),
    "a word of a script in the page": text("report.html", "addEventListener", "removeEventListener"),
    "the page taken away": delete("report.html"),
    "Markdown taken away": delete("report.md"),
    "a figure taken away": delete("figures/roc.svg"),
    "the page away and another curve for ROC": both(delete("report.html"), copy("figures/pr.svg", "figures/roc.svg")),
    "two SVG exchanged": swap("figures/roc.svg", "figures/pr.svg"),
    "two PNG exchanged": swap("figures/roc.png", "figures/pr.png"),
    "a coordinate in SVG": text("figures/roc.svg", r"M0,([0-9]+)", "M0,1"),
    "pixels of a PNG": darker("figures/roc.png"),
    "a comment behind a PNG": lambda place: (place / "figures/roc.png").open("ab").write(b"a claim"),
    "no PNG at all": add("figures/roc.png", b"no picture"),
    "a figure added": copy("figures/roc.svg", "figures/external_validation.svg"),
    "a drawn table added": add("figures/drawn/claims.csv", b"site,AUROC\nelsewhere,0.99\n"),
    "a drawn table edited": text("figures/drawn/criteria.csv", r"0\.[0-9]+", "0.9999"),
    "a compiled report": add("report.pdf", b"%PDF-1.7"),
    "the record taken away": delete("report.json"),
    "the record of another version": text("report.json", '"evidentia": "[^"]+"', '"evidentia": "0.0.1"'),
    "the record of other options": text("report.json", '"ids": null', '"ids": "shown"'),
    "the record of the page of other options": text(
        "report.json", r'("html": \{[^}]*"ids": )"hashed"', r'\g<1>"shown"'
    ),
    "sentences in the record": text("report.json", r'"texts": null', f'"texts": "{"0" * 64}"'),
    "a format out of the record": document("report.json", lambda c: c["formats"].pop("md")),
    "a duplicate key in the record": twice("report.json", "schema", '"evidentia.report/1"'),
    "another key of pseudonyms": text("report.key", "^[0-9a-f]{8}", "00000000"),
    "more comparisons in verification.json": text(
        "verification.json", r'"comparisons": (\d+)', r'"comparisons": 9\g<1>'
    ),
    "a failure in verification.json": put(
        "verification.json", "mismatches", value=[{"where": "AUROC", "reported": 1, "recomputed": 0}]
    ),
    "verification.json taken away": delete("verification.json"),
    "the time of the manifest": put("manifest.json", "time", value="2020-01-01T00:00:00+00:00"),
    "a link to the page": link("report.html"),
}
SELECTIVE: dict[str, Attack] = {
    "a value": document("summary.json", lambda c: next(iter(c["measures"].values())).update(value=0.001)),
    "a limit": document(
        "summary.json", lambda c: next(e for e in c["measures"].values() if e["ci"]).update(ci=[0.0, 0.1])
    ),
    "a difference": put("summary.json", "comparison", "deltas", 0, "delta", value=-0.5),
    "a p": put("summary.json", "comparison", "deltas", 0, "p", value=0.0001),
    "a verdict": document(
        "summary.json", lambda c: [d.update(verdict="win") for d in c["comparison"]["deltas"] if d["verdict"] == "tie"]
    ),
    "a duplicate key": twice("summary.json", "seed", "9"),
    "a prediction": cell("items.csv", 1, "pred", "3.0"),
    "the runs exchanged": swap("items.csv", "against_items.csv"),
    "a participant taken away": text("items.csv", r"\n[^\n]+\n$", "\n"),
    "a cell of a table": cell("tables/measures.csv", 2, "value", "0.5"),
    "a point of a figure": lambda place: cell(
        sorted(p.relative_to(place).as_posix() for p in place.glob("figures/*.csv"))[0], 2, "coverage", "0.9"
    )(place),
    "a table added": add("tables/external.csv"),
    "a hidden file": add("figures/.claims"),
    "a link": link("items.csv"),
}
COMPARISON: dict[str, Attack] = {
    "a difference": put("comparison.json", "deltas", 0, "delta", value=0.2),
    "limits": put("comparison.json", "deltas", 0, "ci", value=[0.1, 0.3]),
    "a p": put("comparison.json", "deltas", 0, "p", value=0.0001),
    "a corrected p": put("comparison.json", "deltas", 0, "p_holm", value=0.0001),
    "verdicts": document("comparison.json", lambda c: [d.update(verdict="win") for d in c["deltas"]]),
    "a value of the baseline": put("comparison.json", "deltas", 0, "baseline_value", value=0.1),
    "systems exchanged": document("comparison.json", lambda c: c["systems"].reverse()),
    "a note taken away": put("comparison.json", "notes", value=[]),
    "a difference taken away": document("comparison.json", lambda c: c["deltas"].pop(0)),
    "another alpha": both(
        put("comparison.json", "alpha", value=0.5), put("manifest.json", "options", "alpha", value=0.5)
    ),
    "fewer measures asked for": put("manifest.json", "options", "measures", value=["AUROC"]),
    "a duplicate key": twice("comparison.json", "alpha", "0.5"),
    "a probability of a system": cell("systems/hard/per_query.csv", 2, "prob", "0.5"),
    "a label of one system": text("systems/hard/per_query.csv", "false", "true"),
    "the systems' queries exchanged": swap("systems/easy/per_query.csv", "systems/hard/per_query.csv"),
    "a query of one system taken away": text("systems/hard/per_query.csv", r"\n[^\n]+\n$", "\n"),
    "TUNE rows of a system": frame("systems/hard/tune.parquet", lambda f: f.with_columns(prob=1 - pl.col("prob"))),
    "a system taken away": delete("systems/hard/per_query.csv", "systems/hard/tune.parquet"),
    "a system added": lambda place: shutil.copytree(place / "systems/hard", place / "systems/third"),
    "a cell of a table": cell("tables/deltas_measures.csv", 1, "delta", "0.2"),
    "a cell of LaTeX": text("tables/deltas_measures.tex", r"0\.[0-9]{4}", "0.9999"),
    "a figure added": add("figures/external.csv"),
    "a link": link("systems/hard/per_query.csv"),
}
COMPARISON_REPORT: dict[str, Attack] = {
    "a number in the page": text("report.html", r'(data-field="delta"[^>]*>)[-+]?[0-9.]+', r"\g<1>+0.5000"),
    "a figure": copy("figures/verdicts.svg", "figures/forest_1.svg"),
    "a figure added": copy("figures/verdicts.svg", "figures/external.svg"),
    "a key of pseudonyms": add("report.key"),
}
ABLATION: dict[str, Attack] = {
    "a figure": put("ablation.json", "configurations", 1, "figures", "AUROC", "value", value=0.99),
    "a gain": put("ablation.json", "configurations", 2, "deltas", "AUROC", "delta", value=0.2),
    "limits of a gain": put("ablation.json", "configurations", 2, "deltas", "AUROC", "ci", value=[0.1, 0.3]),
    "the spread over seeds": put("ablation.json", "configurations", 1, "figures", "AUROC", "seed_std", value=0.0),
    "a configuration taken away": document("ablation.json", lambda c: c["configurations"].pop(1)),
    "a point of the sweep": put("ablation.json", "gamma_sweep", 0, "mean_k", value=1.0),
    "a point of the grid": put("ablation.json", "threshold_grid", 0, "ScreeningSensitivity", value=1.5),
    "a duplicate key": twice("ablation.json", "seeds", "[7]"),
    "a cell of the table": cell("ablation.csv", 3, "value", "0.99"),
    "a number in Markdown": text("ablation.md", r"0\.[0-9]{4}", "0.9999"),
    "a cell of the sweep": cell("gamma_sweep.csv", 1, "mean_k", "1.0"),
    "a cell of the grid": cell("threshold_grid.csv", 1, "ScreeningSensitivity", "1.5"),
    "a probability of another seed": lambda place: cell(
        next(iter(sorted(place.glob("spread/*/*.csv")))).relative_to(place).as_posix(), 1, "prob", "0.999"
    )(place),
    "a number of a step": put("steps/0-retriever/result/summary.json", "measures", "AUROC", "value", value=0.99),
    "an input of a step": frame("steps/0-retriever/per_query.parquet", _flip("detection_score")),
    "a difference of a comparison": put("comparison-ranking/comparison.json", "deltas", 0, "delta", value=0.2),
    "a comparison of another step": lambda place: shutil.copyfile(
        place / "comparison-ranking/systems/retriever/per_query.csv",
        place / "comparison-ranking/systems/+ three-state gate/per_query.csv",
    ),
    "a post that a calibrator was tuned on": document(
        "steps/0-retriever/tuned.json", lambda c: c["folds"][0]["tuned_on"]["posts"].pop()
    ),
    "what a step selects": put("steps/0-retriever/tuned.json", "folds", 0, "selection", "applies_to", value="all"),
    "a cut that was not kept to": put("steps/0-retriever/tuned.json", "folds", 0, "keep", "retriever", value=1),
    "a comparison taken away": lambda place: shutil.rmtree(place / "comparison-selection"),
    "more posts": put("manifest.json", "posts", value=1477),
    "a step added": lambda place: shutil.copytree(place / "steps/0-retriever", place / "steps/9-external"),
    "a file added": add("claims.md"),
    "a page added": add("report.html"),
    "words in the log": text("run.log", r"\n$", "\nnDCG@10 is 0.99\n"),
    "a link": link("ablation.csv"),
}
