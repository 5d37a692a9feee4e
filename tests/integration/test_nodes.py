"""A job on two machines (two processes on loopback, each with a folder of its own) is the same as on one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from context1.settings import Settings, StorageSettings
from context1.settings.secrets import secret_variables
from context1.storage import Storage
from context1.training.job import Job
from context1.training.launch import launch
from context1.training.remote import RemoteJob
from tests.conftest import free_ports
from tests.integration.training import SHORT, TINY, inputs_of, without_times

if TYPE_CHECKING:
    S3Server = Any

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("nodes")
    inputs_of(root)
    return root


@pytest.fixture
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> StorageSettings:
    if request.param == "file":
        return StorageSettings(uri=f"file://{tmp_path}/store")
    server = request.getfixturevalue("s3_server")
    return StorageSettings(
        uri="s3://nodes/some/prefix",
        endpoint=server.endpoint,
        access_key=server.access_key,
        secret_key=server.secret_key,
        secure=False,
    )


def job_of(root: Path, stage: str, storage: StorageSettings, output: Path) -> Job:
    secrets = {name: getattr(storage, name).get_secret_value() for name in ("access_key", "secret_key")}
    own = {"runs": str(root), "storage": storage.model_dump() | secrets, **(SHORT if stage == "rl" else {})}
    settings = Settings.load(profile="smoke", overrides={**TINY, **own})
    inputs = {"index": root / "index", "tasks": root / "generate"}
    if stage == "rl":
        inputs["start"] = root / "start"
    output.mkdir(parents=True, exist_ok=True)
    return Job(stage=stage, settings=settings, inputs=inputs, output=output)


def on_one_machine(job: Job) -> None:
    path = job.output / "job.json"
    path.write_text(job.model_dump_json())
    launch([sys.executable, str(HERE / "kill_rank.py"), str(path)], procs=2)


def on_two_machines(job: Job, remote: RemoteJob, scratch: Path, kill: list[str]) -> list[tuple[int, str]]:
    """Status and output of each machine."""
    (port,) = free_ports(1)
    store = job.settings.storage
    variables = {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_MASTER_ADDR": "127.0.0.1",
        "PET_MASTER_PORT": str(port),
        "CONTEXT1_STORAGE__URI": store.uri,
        "CONTEXT1_STORAGE__ENDPOINT": store.endpoint,
        "CONTEXT1_STORAGE__SECURE": str(store.secure).lower(),
        **secret_variables(job.settings),
    }
    machines = []
    for number in range(2):
        command = [sys.executable, str(HERE / "kill_node.py"), remote.name, str(scratch / str(number)), *kill]
        environment = os.environ | variables | {"PET_NODE_RANK": str(number)}
        machines.append(
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        )
    said = [machine.communicate(timeout=600)[0] for machine in machines]
    return [(machine.returncode, text) for machine, text in zip(machines, said, strict=True)]


@pytest.mark.parametrize(
    ("storage", "stage", "kills"),
    [
        ("file", "sft", [("write", "2"), ("update", "1")]),
        # The sixth episode is the second of rank 1's second wave; its first wave is in storage.
        ("s3", "rl", [("episode", "6"), ("update", "2"), ("write", "1"), ("point", "2")]),
    ],
    indirect=["storage"],
)
def test_two_machines_end_like_one_whatever_is_killed(
    root: Path, storage: StorageSettings, tmp_path: Path, stage: str, kills: list[tuple[str, str]]
) -> None:
    straight = job_of(root, stage, storage, tmp_path / "straight")
    on_one_machine(straight)
    job = job_of(root, stage, storage, tmp_path / "back")
    remote = RemoteJob(Storage(storage.uri, storage), f"c1-{stage}")
    remote.send(job)
    for number, kill in enumerate(kills):
        ended = on_two_machines(job, remote, tmp_path / f"killed-{number}", list(kill))
        assert any(status == 1 and "was killed by SIGKILL" in text for status, text in ended), ended
        assert not remote.finished()
    ended = on_two_machines(job, remote, tmp_path / "last", [])
    assert [status for status, _ in ended] == [0, 0], ended
    remote.receive_result(job.output)
    assert without_times(job.output) == without_times(straight.output)
    weights = [(one.output / "model" / "model.safetensors").read_bytes() for one in (straight, job)]
    assert weights[0] == weights[1]
    summaries = [json.loads((one.output / ".summary.json").read_text()) for one in (straight, job)]
    assert summaries[0]["steps"] == summaries[1]["steps"]
    assert not [key for key in remote.storage.list(remote.folder) if "/waves/" in key]
    remote.remove()
    assert {key.split("/")[0] for key in remote.storage.list()} == {"inputs"}
