"""The publication gate: targets by their intervals, verification, checks, thresholds and intervals, in one verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from typing import Any

from evidentia.checks import check_subject, read_subject
from evidentia.checks.drops import DropJudgement
from evidentia.checks.folder import sha256
from evidentia.checks.targets import Decision, Judgement, judge, targets_of
from evidentia.evaluation.files import manifest_of
from evidentia.results import Evaluation, Finding, loads
from evidentia.tables import DatasetCard

UNVERIFIED = "run `evidentia verify` first"
TRUSTED = "as verification.json says; not recomputed here"
VERIFIED = "Independently verified"
BASELINE = "Baseline independently verified"


@dataclass(frozen=True)
class Recomputed:
    """What a recomputation of the folder compared just now, and how many comparisons did not match."""

    comparisons: int
    mismatches: int
    in_part: tuple[str, ...] = ()  # what was not compared, or of a sample only


@dataclass(frozen=True)
class Condition:
    """Something that must hold before a result is published, beside its targets."""

    title: str
    holds: bool
    message: str


@dataclass(frozen=True)
class Gate:
    """Everything that the gate looked at. It is open if all targets are met and every condition holds."""

    name: str
    evaluation: Evaluation
    manifest: Mapping[str, Any]
    targets: tuple[Judgement, ...]
    conditions: tuple[Condition, ...]
    checks: tuple[Finding, ...]
    drops: tuple[DropJudgement, ...] = ()

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What was decided of everything that was asked."""
        return (*(target.decision for target in self.targets), *(drop.decision for drop in self.drops))

    @property
    def open(self) -> bool:
        """Whether the result may be published by its own rules; without any target nothing was asked, so it is not."""
        asked = bool(self.decisions) and all(decision == "met" for decision in self.decisions)
        return asked and all(condition.holds for condition in self.conditions)


def judge_folder(
    folder: Path,
    targets: Iterable[str] = (),
    *,
    card: DatasetCard | None = None,
    drops: tuple[DropJudgement, ...] = (),
    against: Path | None = None,
    recompute: Callable[[Path], Recomputed] | None = None,
    accept_sampled: bool = False,
) -> Gate:
    """Put a result folder through the gate; nothing is written.

    Who asks for ``drops`` alone is not asked for the usual targets too. ``recompute`` verifies the folder, and the baseline that
    it is held ``against``, after everything that could be refused at once; without it verification.json is believed. What was
    verified in part is not enough unless one says so with ``accept_sampled``.
    """
    subject = read_subject(folder, card=card)
    evaluation = subject.evaluation
    known = subject.run.card if subject.run is not None else card
    named = tuple(targets)
    drops_alone = bool(drops) and not named and card is None
    wanted = () if drops_alone else targets_of(named, known, selective=evaluation.profile == "selective")
    judgements = tuple(judge(target, evaluation) for target in wanted)
    checks = check_subject(subject)
    by_code = {finding.code: finding for finding in checks}
    conditions = (
        _verified(folder, by_code["FILE001"], recompute, accept_sampled),
        *(() if against is None else (_baseline(against, recompute, accept_sampled),)),
        all_passed(checks),
        thresholds(by_code["TUNE001"], by_code["TUNE002"]),
        Condition("Intervals are present", by_code["INT001"].status == "passed", by_code["INT001"].message),
    )
    return Gate(folder.resolve().name, evaluation, manifest_of(folder), judgements, conditions, checks, drops)


def _verified(
    folder: Path, files: Finding, recompute: Callable[[Path], Recomputed] | None, accept_sampled: bool
) -> Condition:
    if recompute is None:
        return written(folder, files, accept_sampled=accept_sampled)
    return recomputed(recompute(folder), accept_sampled=accept_sampled)


def _baseline(folder: Path, recompute: Callable[[Path], Recomputed] | None, accept_sampled: bool) -> Condition:
    """What a result must not fall behind is verified like the result: who lowers a baseline passes it."""
    if recompute is not None:
        condition = recomputed(recompute(folder), accept_sampled=accept_sampled)
    else:
        files = next(finding for finding in check_subject(read_subject(folder)) if finding.code == "FILE001")
        condition = written(folder, files, accept_sampled=accept_sampled)
    return replace(condition, title=BASELINE)


def recomputed(verification: Recomputed, aside: str = "", *, accept_sampled: bool = False) -> Condition:
    """A recomputation compared something, and all of it matched; one of a part counts only where that is accepted."""
    compared, wrong = verification.comparisons, verification.mismatches
    if compared < 1:
        return Condition(VERIFIED, False, "the verification compared nothing")
    if wrong:
        detail = f"{wrong:,} of {compared:,} comparisons do not match: `evidentia verify` lists them"
        return Condition(VERIFIED, False, detail)
    words = f"{compared:,} comparisons, no mismatch{aside}"
    if not verification.in_part:
        return Condition(VERIFIED, True, words)
    accepted = "accepted with --accept-sampled" if accept_sampled else "--accept-sampled lets it pass"
    return Condition(VERIFIED, accept_sampled, f"{words}, but in part ({accepted}): {' '.join(verification.in_part)}")


def written(folder: Path, files: Finding, *, accept_sampled: bool = False) -> Condition:
    """The verification.json that lies there says that all agreed, and is about these files; anybody could have written it."""
    try:
        verification = loads((folder / "verification.json").read_text(encoding="utf-8"))
        mismatches = verification["mismatches"]
        compared = index(verification["comparisons"]) if isinstance(mismatches, list) else 0
        claimed = Recomputed(compared, len(mismatches), tuple(map(str, verification.get("in_part", ()))))
        manifest = verification["manifest_sha256"]
    except OSError:
        return Condition(VERIFIED, False, f"there is no verification.json: {UNVERIFIED}")
    except (ValueError, TypeError, KeyError):
        return Condition(VERIFIED, False, f"verification.json cannot be read: {UNVERIFIED}")
    if manifest != sha256(folder / "manifest.json"):
        return Condition(VERIFIED, False, f"verification.json is about other files than these: {UNVERIFIED}")
    condition = recomputed(claimed, f" ({TRUSTED})", accept_sampled=accept_sampled)
    if condition.holds and files.status != "passed":
        return Condition(VERIFIED, False, f"files were changed after the verification: {UNVERIFIED}")
    return condition


def all_passed(checks: Iterable[Finding]) -> Condition:
    """No check failed; warnings and what could not be looked at are counted beside."""
    statuses = Counter(finding.status for finding in checks)
    counts = ", ".join(f"{count} {status}" for status, count in statuses.most_common())
    return Condition("All checks passed", statuses["failed"] == 0 and statuses["passed"] > 0, counts)


def thresholds(recorded: Finding, deployed: Finding) -> Condition:
    """Every threshold, recorded or in the run, was tuned on posts that it does not judge."""
    holds = all(finding.status in {"passed", "not applicable"} for finding in (recorded, deployed))
    wrong = [finding.message for finding in (recorded, deployed) if finding.status not in {"passed", "not applicable"}]
    return Condition("Thresholds come from TUNE", holds, "; ".join(wrong) or recorded.message)
