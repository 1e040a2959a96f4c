"""A page from its content: Jinja templates with everything escaped, and all scripts and styles inline."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from evidentia.errors import counted
from evidentia.report.page.comparison_page import comparison_page
from evidentia.report.page.content import MARK, Content, pack
from evidentia.report.page.evaluation_page import evaluation_page
from evidentia.report.page.javascript import vega_bundle
from evidentia.report.page.selective_page import selective_page
from evidentia.report.page.theme import config
from evidentia.report.page.words import per_thousand
from evidentia.report.show import chance, limits, shown, signed
from evidentia.report.write import shared_words

_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}
BESIDE = {"DEPTH001": "ranking"}  # warnings that say how to read a family of numbers, and stand beside them
PAGES = {"evaluation": evaluation_page, "selective": selective_page, "comparison": comparison_page}


def page_parts(content: Content) -> dict[str, Any]:
    """Everything that the template of a page asks for, figures among it."""
    return {**_every_page(content), **PAGES[content.kind](content)}


def render(content: Content, page: Mapping[str, Any] | None = None) -> str:
    """The page, the same bytes for the same content and version; ``page`` are its parts where they are there already."""
    page = page_parts(content) if page is None else page
    with ThreadPoolExecutor(1) as beside:  # compressing needs no Python: the templates are read meanwhile
        packed = beside.submit(pack, content)
        parts = {
            **{name: value for name, value in page.items() if name not in {"scripts", "styles"}},
            "content": content,
            "version": version("evidentia"),
            "style": Markup("").join(page_source(name) for name in ("style.css", *page.get("styles", ()))),
            "scripts": [page_source(name) for name in ("app.js", *page.get("scripts", ()))],
            "vega": Markup(vega_bundle()),
            "specs": script_json({figure.name: figure.drawn({}) for figure in page["figures"]}),
            "theme": script_json(config(ink="INK", faint="FAINT")),
        }
        template = page_environment().get_template(f"{content.kind}.html")
        return template.render(**parts, carried=Markup(f"{MARK}{packed.result()}</script>"))


def _every_page(content: Content) -> dict[str, Any]:
    """What pages of all kinds show; a comparison has no measures and no checks of its own."""
    numbers = content.numbers
    checks = numbers.get("checks", ())
    return {
        "title": f"Evidentia: {content.heading}",
        "numbers": numbers,
        "measures": numbers.get("measures", {}),
        "state": verification_state(content),
        "command_needs": dict.fromkeys(
            source["role" if content.kind == "comparison" else "name"] for source in content.manifest.get("inputs", ())
        ),
        "checks": checks,
        "alarms": [
            c for c in checks if c["status"] == "failed" or (c["status"] == "warning" and c["code"] not in BESIDE)
        ],
        "beside": [(BESIDE[c["code"]], c) for c in checks if c["status"] == "warning" and c["code"] in BESIDE],
        "check_counts": Counter(check["status"] for check in checks),
    }


def verification_state(content: Content) -> dict[str, str]:
    """Not yet verified, passed or failed: the first thing that a reader should know."""
    verification = content.verification
    if verification is None or not verification["current"]:
        return {"kind": "none", "words": "Not yet verified", "more": "run: evidentia verify OUT"}
    compared, wrong = f"{verification['comparisons']:,} comparisons", verification["mismatches"]
    if wrong or not verification["comparisons"]:
        return {"kind": "failed", "words": "Verification failed", "more": f"{wrong:,} of {compared} do not match"}
    return {"kind": "passed", "words": "Independently verified", "more": f"{compared}, no mismatch"}


@cache
def page_environment() -> Environment:
    """Templates with everything escaped, and the filters that they use."""
    environment = Environment(
        loader=PackageLoader("evidentia.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": shown,
        "limits": limits,
        "per_thousand": per_thousand,
        "signed": signed,
        "chance": chance,
    }
    environment.filters |= {"counted": counted, "shared_words": shared_words}
    environment.globals["attributes"] = attributes
    return environment


@cache
def page_source(name: str) -> Markup:
    """A script or style of our own, as it is."""
    loader = page_environment().loader
    assert loader is not None
    return Markup(loader.get_source(page_environment(), name)[0])


def script_json(value: Any) -> Markup:
    """JSON inside a script element: nothing in it can end the element or start a comment.

    >>> script_json({"a": "</script>"})
    Markup('{"a":"\\\\u003c/script\\\\u003e"}')
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(_ESCAPES))


def attributes(name: str, field: str, value: object) -> Markup:
    """What says of a number in the page where it comes from, and all its digits."""
    return Markup(' data-of="{}" data-field="{}" data-value="{}"').format(name, field, json.dumps(value))
