"""`evidentia leakage`: posts, texts and feature names that give an evaluation away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import argument, option
from evidentia.cli.source import read_source


def leakage(
    run: Annotated[Path, argument("The run: CSV, Parquet or JSONL, also gzipped.")],
    texts: Annotated[Path | None, option("--texts FILE", "Texts of the posts: a table of post_id and text.")] = None,
    features: Annotated[
        Path | None, option("--features FILE", "A table of features, or a .txt file with a name on each line.")
    ] = None,
    similarity: Annotated[
        float, option("--similarity", "Jaccard similarity from which on texts are near-identical.")
    ] = 0.8,
    mapping: options.Mapped = None,
    delimiter: options.Delimiter = ",",
    max_bytes: options.MaxBytes = options.MAX_BYTES,
) -> None:
    """Look for posts in two folds, tuning posts that are judged, near-identical texts across folds, gold in feature names.

    Exit codes: 0 nothing found, 1 a check failed, 2 bad input. A pipeline object has canaries: see docs/verification.md.
    """
    from evidentia.checks.leakage import check_leakage, read_names, read_texts
    from evidentia.report.gate import print_findings

    source = read_source(run, mapping=mapping, delimiter=delimiter, allow_disjoint=True)
    known = None if texts is None else read_texts(texts, delimiter=delimiter)
    names = None if features is None else read_names(features)
    findings = check_leakage(source, texts=known, similarity=similarity, features=names)
    print_findings(findings)
    options.exit_unless(all(finding.status != "failed" for finding in findings))
