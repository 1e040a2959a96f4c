"""Tiny models with random weights and a small vocabulary, saved the way real ones are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_LINE = "i feel sad tired sleep cannot nothing is fun my dog well the query passage : a b c d never always happy"
WORDS = tuple(_LINE.split())
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}


def tokenizer() -> Any:
    """A tokenizer that knows a few words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: place for place, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=made, model_max_length=64, **special)


def config(**more: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(vocab_size=len(WORDS) + 4, max_position_embeddings=64, **SIZES, **more)


def save_encoder(folder: Path, seed: int = 0, prompts: dict[str, str] | None = None) -> Path:
    """A sentence-transformers model: BERT, then the mean of its tokens."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertModel

    torch.manual_seed(seed)
    bare = folder / "bare"
    BertModel(config()).save_pretrained(bare)
    tokenizer().save_pretrained(bare)
    modules = [Transformer(str(bare)), Pooling(SIZES["hidden_size"])]
    SentenceTransformer(modules=modules, prompts=prompts, device="cpu").save_pretrained(str(folder / "model"))
    return folder / "model"


def save_cross_encoder(folder: Path, seed: int = 0, outputs: int = 1) -> Path:
    """A cross-encoder: BERT with a head."""
    import torch
    from transformers import BertForSequenceClassification

    torch.manual_seed(seed)
    BertForSequenceClassification(config(num_labels=outputs)).save_pretrained(folder)
    tokenizer().save_pretrained(folder)
    return folder
