"""The measure reference, written from the registry."""

from __future__ import annotations

from evidentia.measures import MEASURES, PROFILES, pattern
from evidentia.results.measure import Args, Measure
from evidentia.results.profiles import SELECTIVE

INTRO = """# Measures

Written from the registry by `evidentia measures --markdown`; do not edit by hand.

A name is `Name(parameter=value,...)@cut[group=value]`. A parameter that is left out takes the profile's choice, and every number
carries its definition with all choices written out. Any measure can be asked for in a group: `nDCG@10[criterion=A.1]`,
`AUROC[fold=3]`, `SelectedK[state=POS]`. Names of other tools are understood: `ndcg_cut_10`, `map@10`, `recall_5`, `P_10`.

The *gate* is the system's yes/no: state is not NEG; else prob >= tau; else prob >= 0.5. Thresholds are inclusive.

Measures of predictors that may abstain stand last, under [Selective](#selective); `evidentia selective` computes them, and
[selective.md](selective.md) works an example.
"""


def measure_reference() -> str:
    """Every family and measure, with formula, population, edge cases and what other tools do, as Markdown."""
    families = dict.fromkeys(measure.family for measure in MEASURES)
    parts = [INTRO, _profiles()]
    for family in families:
        members = [measure for measure in MEASURES if measure.family == family]
        parts.append(f"## {family.capitalize()}\n\n" + "\n".join(_section(measure) for measure in members))
    return "\n".join(parts)


def needs_of(measure: Measure, args: Args) -> str:
    """What an input must have, in words; empty where labels are enough."""
    words = {"items": "items of a predictor that may abstain (`evidentia selective`)"}
    return ", ".join(words.get(need, need) for need in measure.requires(args))


def _profiles() -> str:
    lines = [
        "## Profiles\n",
        "| profile | what it is | choices that differ from the default | std over folds | K |",
        "|---|---|---|---|---|",
    ]
    for profile in PROFILES.values():
        choices = "; ".join(f"{base}: {parameter}={value}" for (base, parameter), value in profile.defaults.items())
        extras = ["MRR cut at K"] if profile.cut_mrr else []
        extras += ["both populations side by side"] if profile.dual else []
        extras += [f"macro F1 is avg={profile.macro_f1}"]
        cells = (
            profile.name,
            profile.title,
            "; ".join(filter(None, [choices, *extras])),
            f"ddof {profile.ddof}",
            " ".join(profile.ks),
        )
        lines.append("| " + " | ".join(cells) + " |")
    losses = "AURC, nAURC, eAURC and MAE: loss=abs; AUGRC, nAUGRC and eAUGRC: loss=abs_norm"
    lines.append(f"| {SELECTIVE.name} | {SELECTIVE.title} | {losses} | none | none |")
    return "\n".join(lines) + "\n"


def _section(measure: Measure) -> str:
    args = Args({p.name: p.default or p.values[0] for p in measure.params})
    rows = {
        "Population": measure.population(args).words,
        "Formula": f"`{measure.formula}`",
        "Better": measure.direction,
        "Range": " to ".join("unbounded" if bound is None else f"{bound:g}" for bound in measure.bounds),
        "Undefined": f"{'; '.join(measure.reasons)} (reported as {measure.convention}, marked)"
        if measure.reasons
        else "never",
        "Needs": needs_of(measure, args) or "labels",
        "Reference": measure.reference,
    }
    lines = [f"### `{pattern(measure)}`\n", f"{measure.label}. {measure.meaning}\n"]
    lines += [f"- {key}: {value}" for key, value in rows.items()]
    lines += [f"- `{choice}`: {words}" for choice, words in measure.choices.items()]
    lines += [f"- {tool}: {words}" for tool, words in measure.conventions.items()]
    return "\n".join(lines) + "\n"
