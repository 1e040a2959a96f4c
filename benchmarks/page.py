"""The report of a run of the contract's size: how long it takes to make, how large it is, and when a browser first paints it.

    python benchmarks/page.py            # about a minute; needs Chromium and playwright

A new browser profile opens the page from disk five times; the median of first contentful paint counts, as the browser reports
it. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import evidentia
import record
from evidentia.report.page import read_content, render
from evidentia.synth import synthetic_run
from measuring import cores, show, versions

FIRST_PAINT = 2.0  # seconds
MOST_BYTES = 3_000_000
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PAINTED = """() => new Promise((done) => {
  const look = () => performance.getEntriesByName("first-contentful-paint")[0];
  if (look()) done(look().startTime);
  else new PerformanceObserver(() => { if (look()) done(look().startTime); }).observe({ type: "paint", buffered: true });
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="how often the page is opened")
    parser.add_argument("--resamples", type=int, default=200)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--write", action="store_true", help="write the tables into README.md")
    asked = parser.parse_args()
    chromium = os.environ.get("EVIDENTIA_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        raise SystemExit("There is no Chromium here. Install Debian's chromium, or name one in EVIDENTIA_CHROMIUM.")
    with tempfile.TemporaryDirectory() as name:
        page, made = drawn(Path(name), asked.resamples)
        size = page.stat().st_size
        paints = painted(page, chromium, asked.times)
    figures = {
        "first_paint_seconds": statistics.median(paints),
        "paints": paints,
        "bytes": size,
        "render_seconds": made,
        "load": os.getloadavg()[0],
    }
    median = figures["first_paint_seconds"]
    show(
        f"The page of 14,770 queries, {asked.resamples} resamples",
        ("", "measured", "target"),
        [
            (
                f"first contentful paint, median of {asked.times}",
                f"{median:.2f} s",
                _verdict(median < FIRST_PAINT, "under 2 s"),
            ),
            ("  smallest to largest", f"{min(paints):.2f} to {max(paints):.2f} s", ""),
            ("size", f"{size:,} bytes", _verdict(size <= MOST_BYTES, "at most 3,000,000")),
            ("reading the folder and rendering, smallest of 3", f"{made:.2f} s", ""),
        ],
        f"load {figures['load']:.1f} on {cores()} cores; {', '.join(f'{k} {v}' for k, v in versions('playwright').items())}",
    )
    if asked.write:
        record.write("page", versions("evidentia", "playwright"), how="python benchmarks/page.py")
    if asked.json is not None:
        asked.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def _verdict(met: bool, words: str) -> str:
    return f"{words}: {'met' if met else 'NOT MET'}"


def drawn(folder: Path, resamples: int) -> tuple[Path, float]:
    """The page of a contract-size result, and the seconds that drawing it took, the library in its cache."""
    run = synthetic_run(seed=7)
    out = folder / "out"
    read = evidentia.read_run(run.per_query, candidates=run.candidates)
    evidentia.evaluate(read, resamples=resamples, report=False).save(out)
    render(read_content(out))
    best = float("inf")
    for _ in range(3):
        began = time.perf_counter()
        text = render(read_content(out))
        best = min(best, time.perf_counter() - began)
    page = folder / "report.html"
    page.write_text(text, encoding="utf-8")
    return page, best


def painted(page: Path, chromium: str, times: int) -> list[float]:
    """Seconds to first contentful paint, each in a new profile; a first visit that warms the browser does not count."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for visit in range(times + 1):
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            tab = context.new_page()
            tab.goto(page.as_uri())
            seconds = tab.evaluate(PAINTED) / 1000
            if visit:
                found.append(seconds)
            context.close()
        browser.close()
    return found


if __name__ == "__main__":
    main()
