"""A run whose every name was chosen by somebody who means harm."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import evidentia
from evidentia.report.page.write import write_report

NAMES = (
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "</script><script>window.pwned=1</script><!--",
    "'; alert(1); //",
    "\\input{/etc/passwd}\\write18{id} $x^2$ #1 %~&_{",
    '=HYPERLINK("http://127.0.0.1:9/","click")',
    "+1-cmd",
    "@SUM(A1:A9)",
    "-2+3",
    "{{ 7*7 }}{% raw %}${window.pwned=1}",
    "\U0001f9ea\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2728",
    "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "javascript:window.pwned=1",
    "L" * 80,  # no name may be longer, or have more than five words
    "W\u00fcrde " + "\u6f22" * 60,
)
CRITERIA = NAMES[1::2]  # posts and slices have all names
LONG = "N" * 10_000
SLICE = '=1+1 "><img src=x onerror=window.pwned=1> </script> datum["x"].y \\end{document}'
FORMULAS = tuple("=+-@\t\r")


def hostile_frame(posts: int = 15) -> pl.DataFrame:
    """Every post is asked about every criterion; all names are hostile, and so are the sentences' ids."""
    rows = []
    for i in range(posts):
        post = f"{NAMES[i % len(NAMES)]} {i}"
        uids = [f"{post} s{j}" for j in range(6)]
        for c, criterion in enumerate(CRITERIA):
            label = (i * 7 + c * 3) % 5 == 0
            prob = ((i * 37 + c * 11) % 100) / 100
            state = "NEG" if prob < 0.2 else "POS" if prob >= 0.8 else "UNCERTAIN"
            ranked = uids[i % 6 :] + uids[: i % 6]
            rows.append(
                {
                    "post_id": post,
                    "criterion_id": criterion,
                    "fold": i % 3,
                    "has_evidence": int(label),
                    "prob": prob,
                    "tau_neg": 0.2,
                    "tau_pos": 0.8,
                    "state": state,
                    "gold_sent_uids": uids[:2] if label else [],
                    "ranked_sent_uids": ranked,
                    "selected_sent_uids": [] if state == "NEG" else ranked[:2],
                    SLICE: NAMES[i % len(NAMES)],
                }
            )
    return pl.DataFrame(rows)


def texts_of(frame: pl.DataFrame) -> dict[str, str]:
    """A text for every sentence, as hostile as its name."""
    uids = frame["ranked_sent_uids"].explode().unique(maintain_order=True)
    return {uid: LONG if i % 9 == 0 else f"{NAMES[i % len(NAMES)]}\n text {i}" for i, uid in enumerate(uids)}


def hostile_result(folder: Path) -> pl.DataFrame:
    """Evaluate and save the run, and write its page with texts; returns the run's table."""
    frame = hostile_frame()
    run = evidentia.read_run(frame, by=(SLICE,))
    evidentia.evaluate(run, resamples=30, report=False).save(folder)
    write_report(folder, formats=("html", "latex", "png", "csv", "md"), texts=texts_of(frame))
    return frame
