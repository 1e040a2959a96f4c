"""Encoders and cross-encoders that sentence-transformers loads, on tiny models made here."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from evidentia.errors import InputError
from evidentia.pipeline.encoders.make import cache_report, make_encoder, make_pair_scorer

from .tiny import config, save_cross_encoder, save_encoder, tokenizer

pytestmark = pytest.mark.neural

pytest.importorskip("sentence_transformers", reason="the neural extra is not installed")

TEXTS = ("i feel sad", "my dog is well", "nothing is fun and i cannot sleep")
PAIRS = (("i feel sad", "i cannot sleep"), ("i feel sad", "my dog is well"), ("nothing is fun", "never happy"))
QUERIES, PASSAGES = zip(*PAIRS, strict=True)
SPEC = "sentence-transformers:{}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_encoder(tmp_path_factory.mktemp("encoder"), prompts={"query": "query : ", "other": "a b c "})


@pytest.fixture(scope="module")
def cross(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_cross_encoder(tmp_path_factory.mktemp("cross"))


@pytest.fixture
def hub(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The model as if it had been downloaded from the hub under a commit."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--tiny--encoder"
    commit = "0123456789abcdef0123456789abcdef01234567"
    shutil.copytree(model, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    return commit


def test_vectors_have_unit_length_and_repeat(model: Path) -> None:
    made = [make_encoder(SPEC.format(model), cache=False).encode(TEXTS, kind="passage") for _ in range(2)]
    assert made[0].shape == (3, 16)
    assert made[0].dtype == np.float32
    assert made[0].tobytes() == made[1].tobytes()
    np.testing.assert_allclose((made[0] ** 2).sum(axis=1), 1, atol=1e-6)


def test_prompts_stand_before_the_texts(model: Path) -> None:
    spec = SPEC.format(model)
    prompted = {"query_prompt": "the query : ", "passage_prompt": "passage : "}
    encoder, bare = make_encoder(spec, prompted, cache=False), make_encoder(spec, {"query_prompt": ""}, cache=False)
    own = make_encoder(spec, cache=False)
    np.testing.assert_allclose(
        encoder.encode(["i feel sad"], kind="query"), bare.encode(["the query : i feel sad"], kind="query"), atol=1e-6
    )
    np.testing.assert_allclose(
        encoder.encode(["i feel sad"], kind="passage"), own.encode(["passage : i feel sad"], kind="passage"), atol=1e-6
    )
    np.testing.assert_allclose(
        own.encode(["i feel sad"], kind="query"), bare.encode(["query : i feel sad"], kind="query"), atol=1e-6
    )
    named = make_encoder(spec, {"prompt_name": "other"}, cache=False).encode(["i feel sad"], kind="query")
    np.testing.assert_allclose(named, bare.encode(["a b c i feel sad"], kind="query"), atol=1e-6)


def test_a_prompt_that_the_model_lacks_is_told(model: Path) -> None:
    encoder = make_encoder(SPEC.format(model), {"prompt_name": "nobody"}, cache=False)
    with pytest.raises(InputError, match=r"no prompt 'nobody'\. It has: query"):
        encoder.encode(TEXTS, kind="query")


def test_length_and_precision_can_be_set(model: Path) -> None:
    spec = SPEC.format(model)
    short = make_encoder(spec, {"max_seq_length": 4}, cache=False)
    np.testing.assert_allclose(
        short.encode(["i feel sad"], kind="passage"), short.encode(["i feel tired"], kind="passage"), atol=1e-6
    )
    rough = make_encoder(spec, {"dtype": "bfloat16"}, cache=False).encode(TEXTS, kind="passage")
    assert rough.dtype == np.float32
    np.testing.assert_allclose(rough, make_encoder(spec, cache=False).encode(TEXTS, kind="passage"), atol=0.05)
    long = make_encoder(spec, {"normalize": False}, cache=False).encode(TEXTS, kind="passage")
    assert abs((long**2).sum() - 3) > 0.1


def test_the_key_knows_weights_and_settings_and_not_speed(model: Path, tmp_path: Path) -> None:
    def key(folder: Path, **settings: object) -> str:
        return make_encoder(SPEC.format(folder), settings, cache=False).key

    moved = shutil.copytree(model, tmp_path / "moved")
    assert key(model) == key(moved) == key(model, batch_size=7, device="cpu")
    others = {key(model, query_prompt="x"), key(model, dtype="float16"), key(model, max_seq_length=9)}
    weights = moved / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    assert len({key(model), key(moved), *others}) == 5


def test_the_cache_spares_loading_the_model(model: Path, tmp_path: Path) -> None:
    first = make_encoder(SPEC.format(model), cache=tmp_path)
    vectors = first.encode(TEXTS, kind="query")
    second = make_encoder(SPEC.format(model), cache=tmp_path)
    assert second.encode(TEXTS, kind="query").tobytes() == vectors.tobytes()
    report = cache_report(second)
    assert report is not None
    assert (report.hits, report.misses) == (3, 0)
    assert cache_report(make_encoder("minilm", cache=False)) is None


@pytest.fixture
def silent_hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A hub that takes connections and never answers; in the end nobody may have called."""
    from huggingface_hub import constants

    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{listener.getsockname()[1]}")
        yield
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_hub_name_is_loaded_by_its_commit_without_a_network(model: Path, hub: str, silent_hub: None) -> None:
    encoder = make_encoder("sentence-transformers:tiny/encoder", cache=False)
    local = make_encoder(SPEC.format(model), cache=False)
    assert encoder.encode(TEXTS, kind="query").tobytes() == local.encode(TEXTS, kind="query").tobytes()
    given = make_encoder("sentence-transformers:tiny/encoder", {"revision": hub}, cache=False)
    assert given.key == encoder.key != local.key


def test_a_snapshot_that_lacks_files_is_not_taken_for_the_model(
    hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without its list of modules the library would pool otherwise, in silence: the hub is asked, and nobody answers."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    (tmp_path / "models--tiny--encoder" / "snapshots" / hub / "modules.json").unlink()
    asked: list[bool] = []
    monkeypatch.setattr(
        "sentence_transformers.SentenceTransformer",
        lambda *_, local_files_only=False, **__: asked.append(local_files_only),
    )
    with pytest.raises(AttributeError):  # what stands for the library gives no model
        make_encoder("sentence-transformers:tiny/encoder", cache=False).encode(TEXTS, kind="query")
    assert asked == [False]


@pytest.mark.parametrize("name", ["nobody/nothing", "./not-here", "a/b/c"])
def test_a_model_that_is_not_there_is_told(name: str) -> None:
    with pytest.raises(InputError, match="folder"):
        make_encoder(SPEC.format(name), cache=False)


def test_a_hub_that_cannot_be_reached_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offline mode is off, and the address is one where nobody listens."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="the hub did not answer"):
        make_encoder(SPEC.format("nobody/nothing"), cache=False)


def test_a_folder_that_holds_no_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(InputError, match="cannot be loaded"):
        make_encoder(SPEC.format(tmp_path), cache=False).encode(TEXTS, kind="query")


def test_code_of_a_model_runs_only_when_trusted(tmp_path: Path) -> None:
    """The folder's code writes a file when it is imported; that file must not appear."""
    tokenizer().save_pretrained(tmp_path)
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Own: pass\nclass OwnConfig: pass\n")
    auto = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.Own"}
    own = config().to_dict() | {"model_type": "own", "auto_map": auto, "architectures": ["Own"]}
    (tmp_path / "config.json").write_text(json.dumps(own))
    with pytest.raises(InputError, match="cannot be loaded"):
        make_encoder(SPEC.format(tmp_path), cache=False).encode(TEXTS, kind="query")
    assert not (tmp_path / "ran").exists()


def test_a_cross_encoder_gives_one_logit_per_pair(cross: Path, tmp_path: Path) -> None:
    spec = f"cross-encoder:{cross}"
    scores = make_pair_scorer(spec, {"batch_size": 2}, cache=False).score(QUERIES, PASSAGES)
    assert scores.shape == (3,)
    assert scores.dtype == np.float32
    cached = make_pair_scorer(spec, cache=tmp_path)
    assert cached.score(QUERIES, PASSAGES).tobytes() == cached.score(QUERIES, PASSAGES).tobytes()
    np.testing.assert_allclose(cached.score(QUERIES, PASSAGES), scores, atol=1e-6)
    report = cache_report(cached)
    assert report is not None
    assert (report.hits, report.misses) == (6, 3)


def test_a_classifier_of_several_classes_is_no_reranker(tmp_path: Path) -> None:
    scorer = make_pair_scorer(f"cross-encoder:{save_cross_encoder(tmp_path, outputs=3)}", cache=False)
    with pytest.raises(InputError, match="3 outputs"):
        scorer.score(QUERIES, PASSAGES)


def test_pairs_must_be_pairs(cross: Path) -> None:
    with pytest.raises(InputError, match="2 queries cannot be paired with 1 passage"):
        make_pair_scorer(f"cross-encoder:{cross}", cache=False).score(["a", "b"], ["c"])


LISTWISE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel

class OwnConfig(PretrainedConfig):
    model_type = "own"

class Own(PreTrainedModel):
    config_class = OwnConfig

    def __init__(self, config):
        super().__init__(config)
        self.factor = torch.nn.Parameter(torch.ones(1))
        self.post_init()

    def rerank(self, query, documents):
        scores = [float(self.factor) * len(text) + len(documents) / 10 for text in documents]
        order = sorted(range(len(documents)), key=lambda place: -scores[place])
        return [{"document": documents[i], "relevance_score": scores[i], "index": i} for i in order]
"""


def listwise_model(folder: Path) -> Path:
    """A folder with code of its own, as jina-reranker-v3 has it: ``rerank`` sees all documents at once."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir()
    (folder / "own.py").write_text(LISTWISE)
    auto = {"AutoConfig": "own.OwnConfig", "AutoModel": "own.Own"}
    (folder / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": auto, "architectures": ["Own"]}))
    save_file({"factor": torch.full((1,), 2.0)}, folder / "model.safetensors", {"format": "pt"})
    return folder


def test_a_listwise_model_with_code_of_its_own_runs_when_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers.dynamic_module_utils as dynamic

    monkeypatch.setattr(dynamic, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    spec = f"listwise:{listwise_model(tmp_path / 'model')}"
    with pytest.raises(InputError, match="code of its own: read it"):
        make_pair_scorer(spec, cache=False)
    scorer = make_pair_scorer(spec, {"trust_remote_code": True}, cache=tmp_path / "cache")
    queries, passages = ["q", "q", "r", "q"], ["a", "bb", "a", "a"]
    for _ in range(2):
        np.testing.assert_allclose(scorer.score(queries, passages), [2.2, 4.2, 2.1, 2.1], atol=1e-6)
    report = cache_report(scorer)
    assert report is not None
    assert (report.hits, report.misses) == (4, 4)


def test_a_model_without_a_rerank_function_is_told(model: Path) -> None:
    scorer = make_pair_scorer(f"listwise:{model}", {"trust_remote_code": True}, cache=False)
    with pytest.raises(InputError, match="has no rerank function"):
        scorer.score(["q"], ["a"])
