"""Invented runs of an evidence pipeline, for demonstrations, tests and benchmarks; they hold no text."""

from evidentia.synth.arrays import SyntheticArrays, synthetic_arrays
from evidentia.synth.files import write_run, write_trec
from evidentia.synth.run import SyntheticRun, synthetic_run

__all__ = [
    "SyntheticArrays",
    "SyntheticRun",
    "synthetic_arrays",
    "synthetic_run",
    "write_run",
    "write_trec",
]
