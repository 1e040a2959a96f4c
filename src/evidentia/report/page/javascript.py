"""Vega, Vega-Lite and Vega-Embed as one script, from the package that ships them; bundling takes seconds, so it is kept."""

from __future__ import annotations

import base64
import gzip
import os
import tempfile
import zlib
from functools import cache
from importlib.metadata import version
from pathlib import Path


@cache
def vega_bundle() -> str:
    """The script that draws figures in a page, without any request to a network: base64 of gzip, the page unpacks it."""
    kept = _cache_folder() / f"vega-{version('vl-convert-python')}.js.gz"
    try:
        packed = kept.read_bytes()
        gzip.decompress(packed)  # a damaged one is made anew
    except (OSError, EOFError, ValueError, zlib.error):
        packed = gzip.compress(_bundle().encode(), 9, mtime=0)
        _keep(kept, packed)
    return base64.b64encode(packed).decode("ascii")


def _bundle() -> str:
    from vl_convert import javascript_bundle

    bundle: str = javascript_bundle("window.vegaEmbed=vegaEmbed;")
    return bundle


def _cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evidentia"


def _keep(path: Path, content: bytes) -> None:
    """Write whole or not at all; a place that cannot be written only costs the seconds again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except OSError:
        return
