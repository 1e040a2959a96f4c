"""Every attack on a folder is noticed by `evidentia verify --read-only`, and the folder is left as it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import evidentia
from builders.pipelines import small_config, small_corpus
from cli.abstaining import make_runs
from cli.command import evidentia as command
from compare.systems import save, system
from evidentia.report import write_report
from sharing import shared_folder

from . import attacks
from .made import small_run

KINDS = {
    "evaluation": attacks.EVALUATION,
    "report": attacks.REPORT,
    "selective": attacks.SELECTIVE,
    "comparison": attacks.COMPARISON,
    "comparison_report": attacks.COMPARISON_REPORT,
    "ablation": attacks.ABLATION,
}
ALL = [(kind, name) for kind, listed in KINDS.items() for name in listed]
AS_THEY_ARE = {  # hashes are not renewed: they would undo the attack, or make it one that nobody could notice
    *("a duplicate key in manifest.json", "a link to the manifest", "the time of the manifest"),
}
FORMATS = ("html", "svg", "png", "csv", "md", "latex")


@pytest.fixture
def sound(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A sound folder of each kind, made when it is first asked for."""
    return lambda kind: shared_folder(tmp_path_factory, f"sound-{kind}", MAKERS[kind]) / "out"


def _evaluation(home: Path, *, report: bool = False) -> None:
    run = small_run(home / "run", posts=12, criteria=2, positives=8)
    read = evidentia.read_run(run / "per_query.csv", candidates=run / "candidates.csv")
    evidentia.evaluate(read, resamples=20, report=False).save(home / "out")
    if report:
        write_report(home / "out", formats=FORMATS)
        assert evidentia.verify_result(home / "out").passed


def _selective(home: Path) -> None:
    runs, out = make_runs(home), home / "out"
    words = ("--mode", "zero_shot", "--against-mode", "few_shot", "--resamples", 20, "--seed", 5)
    ran = command("selective", runs.both, *words, "--no-report", "-o", out, "-q")
    assert ran.code == 0, ran


def _comparison(home: Path, *, report: bool = False) -> None:
    for name, difficulty in (("easy", 0.3), ("hard", 0.8)):
        save(system(difficulty, splits=True), home / name)
    measures = ["AUROC", "Brier", "nDCG@10", "Queries", "TPR(tuned)@FPR=10%"]
    evidentia.compare(home / "easy", home / "hard", measures=measures, resamples=20, out=home / "out", report=report)


def _ablation(home: Path) -> None:
    """Two criteria of the small corpus, and neither reranker nor graph: a fifth of the numbers."""
    small_corpus(home / "corpus", criteria=2)
    config = small_config(home, reranker="none", graph="none", more='[retriever]\nkind = "bm25"\n')
    config.write_text(config.read_text().replace("platt", "isotonic"))
    ran = command(
        "ablate", config, "-o", home / "out", "--seeds", 2, "--resamples", 10, "--no-report", "--no-verify", "-q"
    )
    assert ran.code == 0, ran


MAKERS: dict[str, Callable[[Path], object]] = {
    "evaluation": _evaluation,
    "report": lambda home: _evaluation(home, report=True),
    "selective": _selective,
    "comparison": _comparison,
    "comparison_report": lambda home: _comparison(home, report=True),
    "ablation": _ablation,
}


def everything(folder: Path) -> dict[str, object]:
    """Every file, folder and link below a folder; of files their bytes and times."""
    found: dict[str, object] = {}
    for place, names, files in os.walk(folder):
        for name in [*names, *files]:
            path = Path(place, name)
            about = path.lstat()
            plain = path.is_file() and not path.is_symlink()
            found[str(path.relative_to(folder))] = (
                about.st_mode,
                about.st_mtime_ns,
                path.read_bytes() if plain else None,
            )
    return found


def test_there_are_at_least_sixty_attacks_of_every_sort() -> None:
    counts = {kind: len(listed) for kind, listed in KINDS.items()}
    print(f"{sum(counts.values())} attacks: {counts}")
    assert sum(counts.values()) >= 60
    assert all(counts.values())


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_folder_of_each_kind_passes_and_nothing_is_written(kind: str, sound: Callable[[str], Path]) -> None:
    folder = sound(kind)
    before = everything(folder)
    ran = command("verify", folder, "--read-only")
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert everything(folder) == before


@pytest.mark.sample(every=48, by=("kind",))
@pytest.mark.parametrize(("kind", "name"), ALL, ids=[f"{kind}: {name}" for kind, name in ALL])
def test_an_attack_is_noticed_and_nothing_is_written(
    kind: str, name: str, sound: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = tmp_path / "attacked"
    shutil.copytree(sound(kind), folder)
    attack = KINDS[kind][name]
    (attack if name in AS_THEY_ARE else attacks.renewed(attack))(folder)
    before = everything(folder)
    ran = command("verify", folder, "--read-only")
    assert ran.code in {1, 2}, f"{kind}: {name} went unnoticed:\n{ran.out}"
    assert "Traceback" not in ran.err
    assert everything(folder) == before


@pytest.mark.slow
def test_a_picture_is_compared_by_its_pixels(sound: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "repacked"
    shutil.copytree(sound("report"), folder)
    before = (folder / "figures/roc.png").read_bytes()
    attacks.repacked("figures/roc.png")(folder)
    assert (folder / "figures/roc.png").read_bytes() != before
    assert command("verify", folder, "--read-only", "-q").code == 0
