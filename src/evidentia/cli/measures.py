"""`evidentia measures`: what can be measured."""

from __future__ import annotations

import json
from typing import Annotated

from evidentia.cli import options
from evidentia.cli.options import option


def measures(
    profile: options.ProfileName = "contract",
    as_json: Annotated[bool, option("--json", "Print JSON.")] = False,
    markdown: Annotated[bool, option("--markdown", "Print the measure reference, as Markdown.")] = False,
    names: Annotated[bool, option("--names", "Print the names that the profile reports, one a line.")] = False,
) -> None:
    """List every measure: how its name is written, what it says, and which way is better."""
    from evidentia.measures import MEASURES, pattern, profile_named, resolve
    from evidentia.results.profiles import SELECTIVE, selective_names

    chosen = profile_named(profile, of_items=True)
    if names:
        reported = selective_names() if chosen is SELECTIVE else chosen.names()
        shown_names = dict.fromkeys(resolve(name, chosen).definition.name(chosen) for name in reported)
        print("\n".join(shown_names))
        return
    if markdown:
        from evidentia.report.reference import measure_reference

        print(measure_reference(), end="")
        return
    if as_json:
        rows = [
            {"name": pattern(m), "family": m.family, "label": m.label, "direction": m.direction, "meaning": m.meaning}
            for m in MEASURES
        ]
        print(json.dumps(rows, indent=1))
        return
    from evidentia.report.reference import print_measures

    print_measures(MEASURES)
