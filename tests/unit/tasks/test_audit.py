"""The audit: tasks that were made hold; one that was tampered with, in any way, does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from context1.commands.stages import index, ingest
from context1.errors import InputError
from context1.jsonl import read_jsonl
from context1.schema import Task
from context1.settings import Settings
from context1.tasks.again import Failure
from context1.tasks.audit import FAILED, REPORT, verify
from context1.tasks.generate import SPLITS, generate, tasks_file
from context1.tasks.verify import Verifier

SETTINGS = Settings.load(
    profile="smoke", overrides={"world.tasks_per_world": 3, "world.domains": ["web", "email"]}
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    ingest(SETTINGS, "", folder / "ingest")
    index(SETTINGS, folder / "ingest", folder / "index")
    generate(SETTINGS, "", folder / "ingest", folder / "index", folder / "generate")
    return folder


def audit(made: Path, tasks: Path, output: Path, **limits: Any) -> dict[str, Any]:
    settings = SETTINGS.model_copy(update={"audit": SETTINGS.audit.model_copy(update=limits)})
    return verify(settings, made / "ingest", made / "index", tasks, output)


def tampered(made: Path, folder: Path, change: Callable[[dict[str, Any]], None]) -> tuple[Path, str]:
    """The tasks with the first multi-hop test task changed; they, and that task's id."""
    folder.mkdir()
    for split in SPLITS:
        rows = list(read_jsonl(made / "generate" / tasks_file(split), Task))
        data = [row.model_dump() for row in rows]
        if split == "test":
            chosen = next(row for row in data if row["hops"] > 1)
            changed = chosen["id"]
            change(chosen)
        (folder / tasks_file(split)).write_text("".join(json.dumps(row) + "\n" for row in data))
    return folder, changed


def test_tasks_that_were_made_hold(made: Path, tmp_path: Path) -> None:
    summary = audit(made, made / "generate", tmp_path / "verify")
    assert summary["failed"] == 0 and summary["tasks"] == 18 and summary["planted"] > 100
    assert all(0 <= summary[f"false_accepts_{domain}"] <= 0.05 for domain in ("web", "email"))
    assert (tmp_path / "verify" / FAILED).read_text() == ""
    assert "| web |" in (tmp_path / "verify" / REPORT).read_text()


def _shift(task: dict[str, Any]) -> None:
    task["facts"][0]["quote"]["start"] += 1
    task["facts"][0]["quote"]["end"] += 1


def _foreign_distractor(task: dict[str, Any]) -> None:
    task["distractors"] = [task["facts"][0]["chunk_ids"][0]]


def _other_chunk(task: dict[str, Any]) -> None:
    task["facts"][0]["chunk_ids"][0] = task["facts"][1]["chunk_ids"][0]


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], Any], set[str]]] = {
    "offsets": (_shift, {"facts_differ"}),
    "truth": (lambda task: task.update(truth="Zanzibar Quintessence"), {"quote_lacks_answer"}),
    "leak": (lambda task: task.update(question=task["question"] + task["truth"]), {"truth_in_question"}),
    "chunk": (_other_chunk, {"quote_not_found", "hops_share_chunk", "chunk_lacks_given"}),
    "unknown": (lambda task: task["facts"][0].update(chunk_ids=["nowhere"]), {"unknown_chunk"}),
    "extra": (lambda task: task["facts"][0]["chunk_ids"].append(task["distractors"][0]), {"facts_differ"}),
    "hops": (lambda task: task.update(hops=task["hops"] + 1), {"malformed"}),
    "distractor": (_foreign_distractor, {"distractor_is_gold"}),
    "holds truth": (lambda task: task["facts"][0].update(contains_truth=True), {"facts_differ"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_that_was_tampered_with_does_not(made: Path, tmp_path: Path, name: str) -> None:
    change, reasons = CHANGES[name]
    tasks, changed = tampered(made, tmp_path / "tasks", change)
    with pytest.raises(InputError, match=f"1 of .* tasks do not hold .*{changed}"):
        audit(made, tasks, tmp_path / "verify")
    (failure,) = read_jsonl(tmp_path / "verify.partial" / FAILED, Failure)
    assert failure.task_id == changed and failure.reason in reasons
    assert audit(made, tasks, tmp_path / "verify", failing=0.1)["failed"] == 1


def test_a_task_of_two_splits_is_found(made: Path, tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    rows = {split: list(read_jsonl(made / "generate" / tasks_file(split), Task)) for split in SPLITS}
    stolen = rows["train"][0].model_copy(update={"id": "stolen", "split": "test"})
    rows["test"].append(stolen)
    for split in SPLITS:
        text = "".join(row.model_dump_json() + "\n" for row in rows[split])
        (folder / tasks_file(split)).write_text(text)
    with pytest.raises(InputError, match=r"crosses_split"):
        audit(made, folder, tmp_path / "verify")


def test_a_credulous_verifier_is_found_out(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {
        task.id: task for split in SPLITS for task in read_jsonl(made / "generate" / tasks_file(split), Task)
    }

    async def accept(self: Verifier, candidate: Any) -> Task:
        return known[candidate.id]

    monkeypatch.setattr(Verifier, "check", accept)
    with pytest.raises(InputError, match=r"accepts \d+ of \d+ planted faults"):
        audit(made, made / "generate", tmp_path / "verify")
