"""A stage runs once for its configuration and inputs, survives a kill, and notices damage."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from context1 import stage
from context1.schema import Quote
from context1.stage import InputError, digest, read_manifest, run_stage, write_jsonl

Body = Callable[[Path], dict[str, Any]]


class Config(BaseModel):
    rows: int = 3


class Counting:
    """A body that writes rows and counts how often it ran."""

    def __init__(self, rows: int = 3) -> None:
        self.runs = 0
        self.rows = rows

    def __call__(self, partial: Path) -> dict[str, Any]:
        self.runs += 1
        write_jsonl(
            partial / "rows.jsonl.gz", [Quote(text=str(n), start=n, end=n + 1) for n in range(self.rows)]
        )
        (partial / "deep").mkdir(exist_ok=True)
        (partial / "deep" / "note.txt").write_text("note")
        return {"rows": self.rows}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_text("one")
    return path


def test_the_second_run_reuses_the_first(tmp_path: Path, source: Path) -> None:
    body, output = Counting(), tmp_path / "out"
    first = run_stage("count", Config(), {"source": source}, output, body)
    assert first == run_stage("count", Config(), {"source": source}, output, body) == {"rows": 3}
    assert body.runs == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "source.txt"]
    manifest = read_manifest(output)
    assert [entry.path for entry in manifest.files] == ["deep/note.txt", "rows.jsonl.gz"]
    assert manifest.files[0].bytes == 4
    assert manifest.inputs == {"source": digest(source)}


@pytest.mark.parametrize("change", ["config", "input", "name", "fresh"])
def test_a_change_runs_it_anew(tmp_path: Path, source: Path, change: str) -> None:
    body, output = Counting(), tmp_path / "out"
    run_stage("count", Config(), {"source": source}, output, body)
    if change == "input":
        source.write_text("two")
    run_stage(
        "other" if change == "name" else "count",
        Config(rows=4 if change == "config" else 3),
        {"source": source},
        output,
        body,
        fresh=change == "fresh",
    )
    assert body.runs == 2


def test_equal_work_has_an_equal_digest_however_long_it_took(tmp_path: Path) -> None:
    def slow(partial: Path) -> dict[str, Any]:
        time.sleep(0.05)
        return Counting()(partial)

    run_stage("count", Config(), {}, tmp_path / "a", Counting())
    run_stage("count", Config(), {}, tmp_path / "b", slow)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    assert (tmp_path / "a" / "rows.jsonl.gz").read_bytes() == (tmp_path / "b" / "rows.jsonl.gz").read_bytes()


@pytest.mark.parametrize("damage", ["altered", "missing", "added", "manifest"])
def test_damage_to_an_output_is_noticed_and_mended(tmp_path: Path, damage: str) -> None:
    body, output = Counting(), tmp_path / "out"
    run_stage("count", Config(), {}, output, body)
    before, note = digest(output), output / "deep" / "note.txt"
    if damage == "altered":
        note.write_text("nota")  # same length
    elif damage == "missing":
        note.unlink()
    elif damage == "added":
        (output / "more.txt").write_text("more")
    else:
        (output / "manifest.json").write_text('{"name": "cou')
    with pytest.raises(InputError, match="broken manifest" if damage == "manifest" else "does not match"):
        run_stage("reader", Config(), {"rows": output}, tmp_path / "reader", Counting())
    assert not (tmp_path / "reader").exists()
    run_stage("count", Config(), {}, output, body)
    assert body.runs == 2 and digest(output) == before


def test_a_failing_body_leaves_no_output_and_its_work_is_found_again(tmp_path: Path) -> None:
    def failing(partial: Path) -> dict[str, Any]:
        (partial / "half.txt").write_text("half")
        raise RuntimeError("lost")

    def resuming(partial: Path) -> dict[str, Any]:
        return {"found": (partial / "half.txt").exists()}

    with pytest.raises(RuntimeError, match="lost"):
        run_stage("job", Config(), {}, tmp_path / "out", failing)
    assert not (tmp_path / "out").exists()
    assert run_stage("job", Config(rows=9), {}, tmp_path / "other", resuming) == {"found": False}
    assert run_stage("job", Config(), {}, tmp_path / "out", resuming) == {"found": True}


def test_partial_work_of_another_configuration_is_not_used(tmp_path: Path) -> None:
    def failing(partial: Path) -> dict[str, Any]:
        (partial / "half.txt").write_text("half")
        raise RuntimeError("lost")

    with pytest.raises(RuntimeError):
        run_stage("job", Config(), {}, tmp_path / "out", failing)
    left = run_stage(
        "job",
        Config(rows=9),
        {},
        tmp_path / "out",
        lambda partial: {"left": [p.name for p in partial.iterdir()]},
    )
    assert left == {"left": [".key"]}


SCRIPT = """
import sys, time
from pathlib import Path
from pydantic import BaseModel
from context1.stage import atomic_write, run_stage

class Config(BaseModel):
    parts: int = 6

def body(partial):
    ran = 0
    for part in range(6):
        if not (partial / f"part-{part}.txt").exists():
            (partial / ".part.x.tmp").write_text("torn")  # what a kill in the middle of a write leaves
            time.sleep(float(sys.argv[2]))
            (partial / ".part.x.tmp").unlink()
            atomic_write(partial / f"part-{part}.txt", str(part * part))
            ran += 1
    print("parts run:", ran)
    return {"total": 55}

print(run_stage("parts", Config(), {}, Path(sys.argv[1]), body))
"""


def test_killed_in_the_middle_it_continues_to_the_same_result(tmp_path: Path) -> None:
    def start(output: Path, pause: float) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", SCRIPT, str(output), str(pause)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    killed, whole = tmp_path / "killed", tmp_path / "whole"
    assert start(whole, 0).wait() == 0
    process = start(killed, 0.3)
    deadline = time.monotonic() + 60
    while not (tmp_path / "killed.partial" / "part-1.txt").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not killed.exists()
    again = start(killed, 0)
    out, _ = again.communicate(timeout=60)
    assert again.returncode == 0
    assert 1 <= int(out.split()[2]) <= 4
    assert digest(killed) == digest(whole)
    assert sorted(path.name for path in killed.iterdir()) == sorted(path.name for path in whole.iterdir())


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_killed_while_publishing_it_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The swap of old and new takes four steps on the file system; each in turn does not happen."""
    body, output = Counting(), tmp_path / "out"
    run_stage("count", Config(), {}, output, Counting())
    expected, steps = digest(output), 0

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == step:
                raise KeyboardInterrupt
            return real(*arguments, **named)

        return call

    def publish(partial: Path, target: Path) -> None:
        monkeypatch.setattr(Path, "rename", dying(Path.rename))
        monkeypatch.setattr(shutil, "rmtree", dying(shutil.rmtree))
        real_publish(partial, target)

    real_publish = stage._publish
    monkeypatch.setattr(stage, "_publish", publish)
    with pytest.raises(KeyboardInterrupt):
        run_stage("count", Config(), {}, output, body, fresh=True)
    monkeypatch.undo()
    assert steps == step
    run_stage("count", Config(), {}, output, body)
    assert digest(output) == expected
    assert body.runs == 1, "the finished work was done twice"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_reuse_keeps_the_half_done_work_of_another_configuration(tmp_path: Path) -> None:
    def failing(partial: Path) -> dict[str, Any]:
        (partial / "half.txt").write_text("half")
        raise RuntimeError("lost")

    run_stage("job", Config(), {}, tmp_path / "out", Counting())
    with pytest.raises(RuntimeError):
        run_stage("job", Config(rows=9), {}, tmp_path / "out", failing)
    run_stage("job", Config(), {}, tmp_path / "out", Counting())
    assert (tmp_path / "out.partial" / "half.txt").exists()


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    def nested(partial: Path) -> dict[str, Any]:
        with pytest.raises(InputError, match="another process is running this stage"):
            run_stage("job", Config(), {}, tmp_path / "out", Counting())
        return {}

    run_stage("job", Config(), {}, tmp_path / "out", nested)


def test_a_folder_that_no_stage_made_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match="not made by a stage"):
        run_stage("job", Config(), {}, tmp_path, Counting())
    assert (tmp_path / "thesis.txt").exists()


def test_a_missing_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        run_stage("job", Config(), {"documents": tmp_path / "nowhere"}, tmp_path / "out", Counting())
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_holds_no_secret(tmp_path: Path) -> None:
    from context1.settings import Settings

    settings = Settings.load(overrides={"storage.secret_key": "hunter2hunter2"})
    run_stage("job", settings.storage, {}, tmp_path / "out", Counting())
    assert "hunter2" not in (tmp_path / "out" / "manifest.json").read_text()
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["config"]["region"] == "us-east-1"
