"""Invented corpora, runs of an evidence pipeline and of a PHQ-8 scorer, for demonstrations, tests and benchmarks.

The runs hold no text; the texts of the corpora are our own.
"""

from evidentia.synth.corpus import SyntheticCorpus, synthetic_corpus, synthetic_corpus_with_kinds
from evidentia.synth.files import write_run, write_trec
from evidentia.synth.parts import write_parts
from evidentia.synth.phq8 import synthetic_phq8, write_phq8
from evidentia.synth.run import SyntheticArrays, SyntheticRun, synthetic_arrays, synthetic_run

__all__ = [
    "SyntheticArrays",
    "SyntheticCorpus",
    "SyntheticRun",
    "synthetic_arrays",
    "synthetic_corpus",
    "synthetic_corpus_with_kinds",
    "synthetic_phq8",
    "synthetic_run",
    "write_parts",
    "write_phq8",
    "write_run",
    "write_trec",
]
