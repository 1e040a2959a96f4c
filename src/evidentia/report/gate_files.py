"""The publication gate for other programs: as JSON, and as the JUnit XML that every CI shows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from evidentia.checks.drops import DropJudgement
from evidentia.checks.gate import Gate
from evidentia.checks.targets import Judgement

GATE_SCHEMA = "evidentia.gate/1"
JUNIT_START = b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites name=\"evidentia gate "
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def gate_document(gate: Gate) -> dict[str, Any]:
    """Everything that the gate looked at, as plain content."""
    return {
        "schema": GATE_SCHEMA,
        "name": gate.name,
        "open": gate.open,
        "targets": [_target(judgement) for judgement in gate.targets],
        "drops": [_drop(judgement) for judgement in gate.drops],
        "conditions": [{"title": c.title, "holds": c.holds, "message": c.message} for c in gate.conditions],
        "checks": [finding.to_dict() for finding in gate.checks],
    }


def _target(judgement: Judgement) -> dict[str, Any]:
    target, estimate = judgement.target, judgement.estimate
    seen: dict[str, Any] = {"value": None, "ci": None, "n": None}
    if estimate is not None:
        value = None if math.isnan(estimate.value) else estimate.value
        seen = {"value": value, "ci": estimate.ci and list(estimate.ci), "n": estimate.n}
    asked = {"measure": target.name, "relation": target.relation, "bound": target.bound}
    return {**asked, **seen, "decision": judgement.decision, "reason": judgement.reason}


def _drop(judgement: DropJudgement) -> dict[str, Any]:
    delta, drop = judgement.delta, judgement.drop
    difference = (
        {"delta": None, "ci": None} if delta is None else {"delta": delta.delta, "ci": delta.ci and list(delta.ci)}
    )
    asked = {"measure": drop.name, "max_drop": drop.most, "against": judgement.baseline}
    return {**asked, **difference, "decision": judgement.decision, "reason": judgement.reason}


@dataclass(frozen=True)
class Case:
    """One thing that passed, failed or was not looked at."""

    kind: str
    name: str
    outcome: str  # passed, failure or skipped
    message: str


def gate_junit(gate: Gate) -> bytes:
    """A test suite with a case for every target, drop, condition and check; the gate is open if none of them failed."""
    cases = list(_cases(gate))
    counts = {name: sum(case.outcome == name for case in cases) for name in ("failure", "skipped")}
    totals = {"tests": len(cases), "failures": counts["failure"], "errors": 0, "skipped": counts["skipped"]}
    about = {"name": _xml(f"evidentia gate {gate.name}")} | {key: str(count) for key, count in totals.items()}
    suites = ElementTree.Element("testsuites", {key: value for key, value in about.items() if key != "skipped"})
    suite = ElementTree.SubElement(suites, "testsuite", about)
    for case in cases:
        names = {"classname": f"evidentia.gate.{case.kind}", "name": _xml(case.name)}
        element = ElementTree.SubElement(suite, "testcase", names)
        if case.outcome == "passed":
            ElementTree.SubElement(element, "system-out").text = _xml(case.message)
        else:
            kind = {"type": case.kind} if case.outcome == "failure" else {}
            ElementTree.SubElement(element, case.outcome, {"message": _xml(case.message), **kind})
    ElementTree.indent(suites)
    return bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _cases(gate: Gate) -> Iterator[Case]:
    if not gate.decisions:
        yield Case("target", "A target is named", "failure", "no target was named")
    for judgement in gate.targets:
        estimate = judgement.estimate
        value = "no value" if estimate is None else f"{estimate.value}, interval {estimate.ci}"
        yield _asked("target", str(judgement.target), judgement, value)
    for drop in gate.drops:
        delta = drop.delta
        value = "no difference" if delta is None else f"difference {delta.delta}, interval {delta.ci}"
        yield _asked("drop", f"{drop.drop} against {drop.baseline}", drop, value)
    for condition in gate.conditions:
        yield Case("condition", condition.title, "passed" if condition.holds else "failure", condition.message)
    outcomes = {"failed": "failure", "not applicable": "skipped", "skipped": "skipped"}
    for finding in gate.checks:
        outcome = outcomes.get(finding.status, "passed")
        yield Case("check", f"{finding.code} {finding.title}", outcome, f"{finding.status}: {finding.message}")


def _asked(kind: str, name: str, judgement: Judgement | DropJudgement, value: str) -> Case:
    met = judgement.decision == "met"
    words = f"{judgement.decision}: {value}" + (f" ({judgement.reason})" if judgement.reason else "")
    return Case(kind, name, "passed" if met else "failure", words)


def _xml(text: str) -> str:
    """Without the characters that XML has no way to write."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
