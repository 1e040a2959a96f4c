"""The report of a result folder against what is drawn from its files now; nothing is written over before it was compared."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evidentia.errors import InputError, OutputError
from evidentia.evaluation.files import manifest_of
from evidentia.report.page.content import Content, unpack
from evidentia.report.page.differences import page_differences, text_differences
from evidentia.report.page.images import same_picture
from evidentia.report.page.pseudonyms import KEY_FILE, derived_key
from evidentia.report.page.read import KINDS, read_content, verification_of
from evidentia.report.page.record import (
    PAGE,
    RECORD,
    Drawing,
    drawing,
    format_of,
    formats_present,
    read_record,
    texts_sha256,
    versions,
)
from evidentia.report.page.render import render
from evidentia.report.page.write import BROKEN, DATA, files_of, write_report
from evidentia.results.folder import replace_file
from evidentia.verify.tally import Mismatch

NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class ComparedReport:
    """What of a report does not match, which of its files could not be compared, and which verification its page tells of."""

    files: frozenset[str] = frozenset()
    mismatches: tuple[Mismatch, ...] = ()
    not_compared: frozenset[str] = frozenset()
    claim: Mapping[str, Any] | None = None


@dataclass(eq=False)
class _Comparer:
    folder: Path
    files: frozenset[str]
    texts: Mapping[str, str] | None
    sound: bool
    mismatches: list[Mismatch] = field(default_factory=list)
    not_compared: set[str] = field(default_factory=set)
    claim: Mapping[str, Any] | None = None

    def compare(self) -> None:
        try:
            record = read_record(self.folder)
        except InputError as error:
            self._skip(self.files, str(error))
            return
        drawn = self.files - {RECORD}
        for name in sorted(name for name in drawn if format_of(name) not in record):
            self.mismatches.append(Mismatch(f"{name}: known", "a file", None))
        for entry in dict.fromkeys(record.values()):
            formats = [name for name, other in record.items() if other == entry]
            present = {name for name in drawn if format_of(name) in formats}
            if not entry.is_current:
                words = "drawn by Evidentia {} and vl-convert {}; here are {} and {}"
                self._skip(present | {RECORD}, words.format(entry.evidentia, entry.vl_convert, *versions()))
                continue
            self._compare(present, formats, entry)

    def check_key(self) -> None:
        """The key of pseudonyms is the one that the data make; an owner's own one must be that of the page."""
        kind = KINDS.get(str(manifest_of(self.folder).get("schema")))
        data = None if kind is None else DATA.get(kind)
        has_data = data is not None and (self.folder / data).is_file()
        usual = derived_key(self.folder, data).hex() + "\n" if data is not None and has_data else None
        written = (self.folder / KEY_FILE).read_text(encoding="utf-8", errors="replace")
        carried = _carried(self.folder)
        own = has_data and PAGE in self.files and carried is not None and carried.ids == "hashed"
        if written != usual and not own:
            self.mismatches.append(Mismatch(KEY_FILE, "another key", None if usual is None else "what its data make"))

    def _skip(self, names: Collection[str], why: str) -> None:
        self.not_compared.update(names)
        self.mismatches += [Mismatch(name, why, NOT_COMPARED) for name in sorted(names)]

    def _compare(self, present: set[str], formats: Collection[str], entry: Drawing) -> None:
        try:
            content = read_content(
                self.folder,
                show_ids=entry.ids == "shown",
                texts=self.texts if entry.texts else None,
                title=entry.title,
            )
            if entry.texts is not None and self.texts is None:
                content = replace(content, texts=self._own_texts(entry.texts))
            if PAGE in present and (before := _carried(self.folder)) is not None:
                self.claim = before.verification  # compared with what is found now, when that is known
                content = replace(content, verification=self.claim)
            self._check_record(formats, entry, content)
            expected = files_of(content, formats)
        except Exception as error:
            if self.sound and not isinstance(error, BROKEN):
                raise  # the files are as they should be, so the fault is ours
            words = f"cannot be drawn from these files: {type(error).__name__}"
            self.mismatches += [Mismatch(name, "a file", words) for name in sorted(present)]
            return
        for name in sorted(present - expected.keys()):
            self.mismatches.append(Mismatch(f"{name}: known", "a file", None))
        for name, data in expected.items():
            if name not in present:
                self.mismatches.append(Mismatch(name, None, "a file"))
                continue
            written = (self.folder / name).read_bytes()
            self.mismatches += _differences(name, written, data)

    def _check_record(self, formats: Collection[str], entry: Drawing, content: Content) -> None:
        """Options are recorded where they matter, and nowhere else, or they could be changed without a trace."""
        for name in formats:
            usual = drawing(name, content)
            for option in ("ids", "texts", "title"):
                recorded, redrawn = getattr(entry, option), getattr(usual, option)
                if (recorded is None) != (redrawn is None):
                    self.mismatches.append(Mismatch(f"{RECORD}: {name}: {option}", recorded, redrawn))

    def _own_texts(self, recorded: str) -> Mapping[str, Mapping[str, str]]:
        """The sentences that the page carries: the folder has none, so they are held against their hash."""
        texts = unpack((self.folder / PAGE).read_text(encoding="utf-8")).texts
        if texts_sha256(texts) != recorded:
            self.mismatches.append(Mismatch(f"{PAGE}: its sentences", "others", f"those that {RECORD} records"))
        return texts


def _differences(name: str, written: bytes, data: bytes) -> list[Mismatch]:
    if written == data:
        return []
    if name.endswith(".png"):
        same = same_picture(written, data)
        return [] if same else [Mismatch(name, "another picture", "the picture that its figure makes")]
    if name.endswith(".pdf"):
        return [Mismatch(name, "another picture", "the picture that its figure makes")]
    try:
        text = written.decode()
    except UnicodeDecodeError:
        return [Mismatch(name, "no text", "text")]
    compare = page_differences if name == PAGE else text_differences
    return compare(name, text, data.decode())


def compare_report(
    folder: Path, files: Collection[str], *, sound: bool, texts: Mapping[str, str] | None = None
) -> ComparedReport:
    """Draw the report again under its recorded options, and compare ``files`` of it, byte by byte, PNG by pixels.

    ``texts`` are the sentences that a page was given; without them its own are held against their hash. Files that are not
    ``sound`` may be impossible to draw.
    """
    comparer = _Comparer(folder, frozenset(files), texts, sound)
    if files:
        comparer.compare()
    if (folder / KEY_FILE).exists():
        comparer.check_key()
    return ComparedReport(
        frozenset(files), tuple(comparer.mismatches), frozenset(comparer.not_compared), comparer.claim
    )


def check_claim(
    folder: Path, report: ComparedReport, comparisons: int, *, trusted: bool, replaceable: bool
) -> tuple[Mismatch, ...]:
    """Whether the page of a result that passes tells of the verification that it had, if of any.

    That is what ``verification.json`` holds where it can be ``trusted``; one that failed is ``replaceable``.
    """
    claim = report.claim
    if claim is None or (replaceable and claim.get("mismatches")):
        return ()
    recomputed = {"comparisons": comparisons, "mismatches": 0, "current": True}
    held = verification_of(folder) if trusted else recomputed
    if claim == held:
        return ()
    expected = "no verification.json" if held is None else f"{held['comparisons']:,} comparisons"
    return (Mismatch(f"{PAGE}: its verification", f"{claim.get('comparisons')} comparisons", expected),)


def draw_again(folder: Path, report: ComparedReport) -> None:
    """Replace what could not be compared by what is drawn now: the formats that are there, ids and texts as the page has them."""
    try:
        record = read_record(folder)
    except InputError:
        record = {}
    before = _carried(folder)
    for kind in formats_present(report.not_compared):
        shown = record[kind].ids == "shown" if kind in record else before is not None and before.ids == "shown"
        kept = before.texts if kind == "html" and before is not None and before.texts else None
        title = record[kind].title if kind in record else None
        write_report(folder, formats=(kind,), show_ids=shown, title=title, carried_texts=kept)


def restate(folder: Path, report: ComparedReport, *, passed: bool) -> None:
    """Let the page say what the verification found. A page that does not match stays as evidence.

    Where the result itself fails, a page that still shows what it carries is told to say so, and keeps its numbers.
    """
    wrong = any(mismatch.where.partition(":")[0] == PAGE for mismatch in report.mismatches)
    content = _carried(folder) if PAGE in report.files and (not wrong or not passed) else None
    if content is None or (wrong and render(content) != (folder / PAGE).read_text(encoding="utf-8")):
        return
    try:
        replace_file(folder / PAGE, render(replace(content, verification=verification_of(folder))).encode())
    except OSError as error:
        raise OutputError(f"Writing {PAGE} failed: {error.strerror}.") from None


def _carried(folder: Path) -> Any:
    try:
        return unpack((folder / PAGE).read_text(encoding="utf-8"))
    except (InputError, OSError, UnicodeDecodeError):
        return None
