"""What is kept of a step: all of it or nothing, and never something else than was written."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evidentia.errors import InputError, OutputError
from evidentia.pipeline.lock import acquire_lock
from evidentia.pipeline.stage import Parts, StepResult
from evidentia.pipeline.store import Checkpoints, into_place, load_parts, save_parts, write_file

FILES = ("model.json", "model.safetensors", "scores.safetensors", "seconds.json", "sums.json")
OUTCOME = StepResult(
    space=Parts({"words": ["night", "mood"]}, {"frequency": np.array([1.0, 2.0])}),
    model=Parts({"bias": 0.5}, {"weights": np.arange(6.0).reshape(2, 3)}),
    scores=np.array([[0.25, -1.0], [3.5, 0.0]]),
)


@pytest.fixture
def store(tmp_path: Path) -> Checkpoints:
    made = Checkpoints(tmp_path / "work")
    made.write("0", "words", OUTCOME, seconds=1.5)
    made.write("1", "words", OUTCOME, seconds=2.0)
    return made


def no_room(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_is_kept_is_read_back(store: Checkpoints) -> None:
    assert store.scores("0", "words").tolist() == OUTCOME.scores.tolist()
    parts = store.parts("0", "words")
    assert parts["space"].document == {"words": ["night", "mood"]}
    assert parts["model"].arrays["weights"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (store.has("0", "words"), store.has("0", "gate"), store.count()) == (True, False, 2)
    assert store.seconds() == {"words": 3.5}
    assert store.discard_damaged() == []


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("how", ["shorter", "emptied", "changed", "removed"])
def test_a_step_that_is_not_what_was_written_is_removed_and_the_others_stay(
    how: str, name: str, store: Checkpoints
) -> None:
    path = store.root / "0" / "words" / name
    content = path.read_bytes()
    if how == "removed":
        path.unlink()
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"shorter": content[:-1], "emptied": b"", "changed": flipped}[how])
    if name == "sums.json" and how == "shorter":
        assert store.discard_damaged() == ([] if content.endswith(b"\n") else ["0/words"])  # a line's end is no content
        return
    assert store.discard_damaged() == ["0/words"]
    assert not store.has("0", "words")
    assert store.has("1", "words")


def test_damage_that_comes_later_is_an_error_that_names_the_step(store: Checkpoints) -> None:
    os.truncate(store.root / "0" / "words" / "scores.safetensors", 40)
    (store.root / "1" / "words" / "model.json").write_text("{}")
    for ask, fold in ((store.scores, "0"), (store.parts, "1")):
        with pytest.raises(InputError, match=f"^work/{fold}/words is damaged. Continue with --resume"):
            ask(fold, "words")


def test_a_model_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    save_parts(tmp_path, {"model": OUTCOME.model})
    assert load_parts(tmp_path)["model"].document == {"bias": 0.5}
    os.truncate(tmp_path / "model.safetensors", 20)
    with pytest.raises(InputError, match="the model cannot be read"):
        load_parts(tmp_path)


def test_a_full_disk_leaves_no_half_of_a_step(store: Checkpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "write_bytes", no_room)
    with pytest.raises(OutputError, match=r"^Cannot write 0/gate: No space left on device. What was done is kept"):
        store.write("0", "gate", OUTCOME)
    assert [path.name for path in (store.root / "0").iterdir()] == ["words"]


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_file(tmp_path / "tuned.json", b"earlier")
    monkeypatch.setattr(os, "replace", no_room)
    with pytest.raises(OutputError, match=r"^Cannot write tuned.json: No space left on device"):
        write_file(tmp_path / "tuned.json", b"later")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("tuned.json", b"earlier")]


def test_a_folder_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="Cannot write file/out: Not a directory"):
        into_place(tmp_path / "file" / "out", lambda _: None)
    with pytest.raises(OutputError, match=r"Cannot write out: (Not a directory|File exists)"):
        write_file(tmp_path / "file" / "out", b"")


def test_a_folder_is_replaced_when_the_new_one_is_ready_and_not_before(tmp_path: Path) -> None:
    into_place(tmp_path / "fold", lambda place: (place / "one").touch())

    def fail(place: Path) -> None:
        (place / "two").touch()
        raise InputError("no")

    with pytest.raises(InputError):
        into_place(tmp_path / "fold", fail)
    assert [path.name for path in (tmp_path / "fold").iterdir()] == ["one"]
    into_place(tmp_path / "fold", lambda place: (place / "three").touch())
    assert [path.name for path in (tmp_path / "fold").iterdir()] == ["three"]
    assert [path.name for path in tmp_path.iterdir()] == ["fold"]


def test_a_lock_is_for_one(tmp_path: Path) -> None:
    path = tmp_path / "out" / "work" / "lock"
    first = acquire_lock(path)
    with pytest.raises(OutputError, match=rf"^out is being written by another command \(process {os.getpid()}\)"):
        acquire_lock(path)
    first.release()
    acquire_lock(path).release()


def test_a_lock_ends_with_its_holder_however_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "out" / "work" / "lock"
    code = f"import os, pathlib, evidentia.pipeline.lock as l\nheld = l.acquire_lock(pathlib.Path({str(path)!r}))"
    code += "\nos.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert int(path.read_text()) != os.getpid()
    acquire_lock(path).release()


def test_a_lock_does_not_travel_to_workers(tmp_path: Path) -> None:
    with Checkpoints(tmp_path / "work", acquire_lock(tmp_path / "work" / "lock")) as store:
        copy = pickle.loads(pickle.dumps(store))
        copy.release()
        with pytest.raises(OutputError):
            acquire_lock(tmp_path / "work" / "lock")
    acquire_lock(tmp_path / "work" / "lock").release()
