"""A corpus that is not there or too small for `evidentia run`, `ablate`: refused before anything is trained or written."""

from __future__ import annotations

from pathlib import Path

import pytest

from evidentia.corpus.write import write_corpus
from evidentia.errors import InputError
from evidentia.pipeline.config import read_config
from evidentia.running import planned, read_posts_of
from evidentia.synth import synthetic_corpus

from .command import evidentia, refused
from .test_run import QUICK, tiny


def few_posts(home: Path, posts: int) -> None:
    write_corpus(synthetic_corpus(posts=posts, positives=posts // 2, mean_sentences=4, seed=3), home / "corpus")


def config(home: Path, *, folds: int = 2, seed: int = 7) -> Path:
    path = tiny(home, seed=seed)
    path.write_text(path.read_text().replace("folds = 2", f"folds = {folds}").replace('"platt"', '"auto"'))
    return path


def test_a_corpus_is_looked_for_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few_posts(tmp_path, 10)
    (tmp_path / "sub").mkdir()
    tiny(tmp_path / "sub")
    said = "sub/corpus: no such folder. Paths in a configuration start from its own folder: correct [corpus] path."
    refused(evidentia("run", "sub/pipeline.toml", "-o", "out", *QUICK), f"evidentia: {said}")
    assert not (tmp_path / "out").exists()


def test_a_file_that_the_corpus_lacks_is_named_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    few_posts(tmp_path, 10)
    (tmp_path / "corpus" / "labels.csv").unlink()
    tiny(tmp_path)
    refused(evidentia("run", "pipeline.toml", "-o", "out", *QUICK), "evidentia: corpus/labels.csv: no such file")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("posts", "folds", "said"),
    [
        (3, 5, "3 posts cannot be dealt into 5 folds. Give at most 3 folds ([protocol] folds), or more posts."),
        (3, 2, "Fold '1': 1 post outside it cannot be divided into TRAIN and TUNE. Give more posts."),
        (4, 2, "Fold '0': 1 TRAIN post cannot be dealt into 3 parts for cross-fitting."),
        (6, 5, "cannot be made probabilities: TUNE has 2 posts, "),
        (10, 5, "cannot be made probabilities: TUNE has 3 posts, "),
    ],
)
def test_too_few_posts(posts: int, folds: int, said: str, tmp_path: Path) -> None:
    few_posts(tmp_path, posts)
    path = config(tmp_path, folds=folds)
    for command in ("run", "ablate"):
        refused(evidentia(command, path, "-o", tmp_path / "out", *QUICK), said)
    assert not (tmp_path / "out").exists()


def test_too_few_posts_under_the_second_seed_of_an_ablation(tmp_path: Path) -> None:
    few_posts(tmp_path, 40)

    def works(seed: int) -> bool:
        settings = read_config(config(tmp_path, seed=seed))
        try:
            planned(settings, read_posts_of(settings))
        except InputError:
            return False
        return True

    seed = next(seed for seed in range(200) if works(seed) and not works(seed + 1))
    path = config(tmp_path, seed=seed)
    refused(evidentia("ablate", path, "-o", tmp_path / "out", "--seeds", 2, *QUICK), "cannot be made probabilities")
    assert not (tmp_path / "out").exists()
