"""A job through storage: inputs and results come back as they were, and what is not there is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from context1.errors import InputError
from context1.settings import Settings
from context1.storage import Storage
from context1.training import node
from context1.training.job import Job
from context1.training.launch import Node
from context1.training.remote import RemoteJob


@pytest.fixture
def remote(tmp_path: Path) -> RemoteJob:
    return RemoteJob(Storage(f"file://{tmp_path}/store"), "c1-0")


def job(tmp_path: Path) -> Job:
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "postings").write_bytes(b"postings")
    (tmp_path / "tasks.jsonl.gz").write_bytes(b"tasks")
    uri = f"file://{tmp_path}/store"
    settings = Settings.load("smoke", overrides={"storage.uri": uri, "storage.secret_key": "hunter2"})
    inputs = {"index": tmp_path / "index", "tasks": tmp_path / "tasks.jsonl.gz"}
    return Job(stage="sft", settings=settings, inputs=inputs, output=tmp_path / "out")


def test_a_job_arrives_with_its_inputs_and_its_half_done_work(remote: RemoteJob, tmp_path: Path) -> None:
    sent = job(tmp_path)
    remote.send(sent)
    remote.send(sent)
    one = remote.receive(tmp_path / "one")
    assert (one.inputs["index"] / "postings").read_bytes() == b"postings"
    assert one.inputs["tasks"].name == "tasks.jsonl.gz", "a file's name says how it is read"
    assert one.inputs["tasks"].read_bytes() == b"tasks" and one.id == "c1-0"
    (one.output / "waves").mkdir()
    (one.output / "waves" / "wave-0").write_bytes(b"wave")
    one.mirror().keep(one.output / "waves" / "wave-0")
    other = remote.receive(tmp_path / "other")
    assert (other.output / "waves" / "wave-0").read_bytes() == b"wave"
    other.mirror().forget(other.output / "waves")
    assert not list(remote.receive(tmp_path / "third").output.iterdir())
    assert not [
        file for file in (tmp_path / "store").rglob("*") if file.is_file() and b"hunter2" in file.read_bytes()
    ]


def test_a_result_is_there_when_all_of_it_is(remote: RemoteJob, tmp_path: Path) -> None:
    output = tmp_path / "out"
    (output / "model").mkdir(parents=True)
    for name in ("model/weights", "metrics.jsonl", "checkpoint"):
        (output / name).write_text(name)
    remote.send_result(output)
    assert not remote.finished(), "a result without its summary is not whole"
    (output / ".summary.json").write_text("{}")
    remote.send_result(output)
    assert remote.finished()
    remote.receive_result(tmp_path / "back")
    back = sorted(
        str(file.relative_to(tmp_path / "back")) for file in (tmp_path / "back").rglob("*") if file.is_file()
    )
    assert back == [".summary.json", "metrics.jsonl", "model/weights"]
    remote.remove()
    assert not remote.finished() and remote.storage.list() == []


def test_a_pod_without_a_job_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(node, "TERMINATION", tmp_path / "termination-log")
    (tmp_path / "termination-log").touch()
    monkeypatch.setattr(node.signal, "signal", lambda *_: None)
    monkeypatch.setenv("CONTEXT1_STORAGE__URI", f"file://{tmp_path}/store")
    assert node.main(["c1-0", str(tmp_path / "work")]) == 2
    assert "nothing is stored there" in capsys.readouterr().err.splitlines()[-1]
    assert '"kind": "input"' in (tmp_path / "termination-log").read_text()


def test_pods_that_are_not_the_processes_are_refused(remote: RemoteJob, tmp_path: Path) -> None:
    remote.send(job(tmp_path))
    with pytest.raises(InputError, match=r"3 nodes of 4 processes are not train\.procs=2"):
        node.train(remote, tmp_path / "work", Node(count=3), {"PET_NPROC_PER_NODE": "4"})
