"""`context1 lineage` as typed: a folder, a folder inside, an id; what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from context1.commands.lineage import lineage
from context1.commands.options import SettingsOptions
from context1.errors import InputError
from tests.unit.lineage.made import by_number, make


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    taught = make(tmp_path / "runs" / "demo" / "sft", 1, [], "sft")
    make(tmp_path / "runs" / "demo" / "rl", 2, [taught / "model"], "rl")
    return tmp_path / "runs"


def options(runs: Path) -> SettingsOptions:
    return SettingsOptions("smoke", None, [f"runs={runs}"])


def test_draws_both_directions(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lineage(str(runs / "demo" / "sft" / "model"), options=options(runs))
    used = capsys.readouterr().out
    assert "used by" in used and "made from" not in used and str(runs / "demo" / "rl") in used
    lineage(by_number(runs)[2].id[:9], options=options(runs))
    made = capsys.readouterr().out
    assert "made from" in made and by_number(runs)[1].id[:12] in made


def test_json_and_mermaid(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lineage(str(runs / "demo" / "rl"), json=True, options=options(runs))
    drawn = json.loads(capsys.readouterr().out)
    ids = {number: output.id for number, output in by_number(runs).items()}
    assert drawn["id"] == ids[2] and drawn["edges"] == [{"from": ids[1], "to": ids[2]}]
    lineage(str(runs / "demo" / "rl"), mermaid=True, options=options(runs))
    assert capsys.readouterr().out.startswith("flowchart LR")


def test_a_run_outside_the_runs_folder(
    runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage(str(runs / "demo" / "rl"), json=True, options=options(tmp_path / "none"))
    assert len(json.loads(capsys.readouterr().out)["nodes"]) == 2


def test_what_is_refused(runs: Path) -> None:
    with pytest.raises(InputError, match=r"name one in it: rl, sft"):
        lineage(str(runs / "demo"), options=options(runs))
    with pytest.raises(InputError, match="no id here"):
        lineage("feedbeef", options=options(runs))
    with pytest.raises(InputError, match="give one of them"):
        lineage("x", json=True, mermaid=True, options=options(runs))
