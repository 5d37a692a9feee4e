"""gc keeps every ancestor of what is kept, takes the rest whole, and touches nothing else."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context1.commands.gc import gc
from context1.commands.options import SettingsOptions
from context1.errors import InputError
from context1.lineage.garbage import garbage, newest, remove
from context1.lineage.outputs import graph_of, outputs_below
from context1.stage import digest, run_stage
from tests.unit.lineage.made import Config, by_number, make, make_graph
from tests.unit.lineage.test_graph import dags


@settings(max_examples=25, deadline=None)
@given(dags(), st.data())
def test_what_is_kept_keeps_its_ancestors(parents: dict[int, list[int]], data: st.DataObject) -> None:
    names = {n: data.draw(st.sampled_from(["a", "b"])) for n in parents}
    named = data.draw(st.sets(st.sampled_from(sorted(parents))))
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder)
        make_graph(runs, parents, names, roots=2)
        before = by_number(runs)
        outputs = list(outputs_below(runs))
        kept = newest(outputs, runs) | {before[n].id for n in named}
        for output in garbage(outputs, graph_of(outputs), kept):
            remove(output)
            left = set(by_number(runs))
            assert all(one in left for n in left for one in parents[n]), "a parent went before its child"
        after = set(by_number(runs))
    other = networkx.DiGraph([(one, n) for n, ones in parents.items() for one in ones])
    other.add_nodes_from(parents)
    roots = named | {max(n for n in parents if n % 2 == run and names[n] == name)
                     for run in (0, 1) for name in "ab"
                     if any(n % 2 == run and names[n] == name for n in parents)}  # fmt: skip
    assert after == roots.union(*(networkx.ancestors(other, root) for root in roots))


def run_gc(runs: Path, *keep: str, yes: bool = True, **overrides: str) -> None:
    given = [f"runs={runs}", *(f"{key.replace('__', '.')}={value}" for key, value in overrides.items())]
    gc(keep=list(keep), yes=yes, options=SettingsOptions("smoke", None, given))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """`old` was superseded by `new`, both of stage `rl` in one run's folder."""
    make(tmp_path / "demo" / "old", 1, [], "rl", at=1)
    make(tmp_path / "demo" / "new", 2, [], "rl", at=2)
    return tmp_path


def test_dry_by_default(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_gc(runs, yes=False)
    said = capsys.readouterr().out
    assert f"{runs}/demo/old" in said and "demo/new" not in said and "--yes removes" in said
    assert set(by_number(runs)) == {1, 2}


def test_yes_removes_and_a_second_run_finds_nothing(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_gc(runs)
    assert sorted(path.name for path in (runs / "demo").iterdir()) == ["new"]
    run_gc(runs)
    assert "nothing to remove: 1 outputs are kept" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["id", "folder", "inside", "model pin", "index pin"])
def test_what_is_named_stays(runs: Path, how: str) -> None:
    old = make(runs / "demo" / "index-old", 3, [runs / "demo" / "old"], "index", at=3)
    make(runs / "demo" / "index-new", 4, [], "index", at=4)
    manifest = by_number(runs)[3].manifest
    if how == "model pin":
        run_gc(runs, serve__pins__model=f"demo-{manifest.part('model')[:12]}")
    elif how == "index pin":
        run_gc(runs, serve__pins__index="index-3")
    else:
        run_gc(runs, {"id": manifest.id[:10], "folder": str(old), "inside": str(old / "model")}[how])
    assert set(by_number(runs)) == {1, 2, 3, 4}


def test_an_unknown_name_to_keep_removes_nothing(runs: Path) -> None:
    with pytest.raises(InputError, match="no id here"):
        run_gc(runs, "feedbeef")
    assert set(by_number(runs)) == {1, 2}


def test_what_no_stage_made_stays(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (runs / "demo" / "old" / "notes.txt").write_text("mine")
    (runs / "demo" / "mine").mkdir()
    (runs / "demo" / "mine" / "a.txt").write_text("a")
    (runs / "linked").symlink_to(runs / "demo", target_is_directory=True)
    (runs / "demo" / "torn").mkdir()
    (runs / "demo" / "torn" / "manifest.json").write_text("{")
    run_gc(runs)
    assert sorted(path.name for path in (runs / "demo").iterdir()) == ["mine", "new", "old", "torn"]
    assert (runs / "demo" / "old" / "notes.txt").exists()
    assert "holds other files than its stage made" in capsys.readouterr().err


def test_a_running_stage_keeps_what_it_reads_and_makes(runs: Path) -> None:
    old = runs / "demo" / "old"
    stale = by_number(runs)[1]
    below = make(runs / "demo" / "older", 0, [], "rl", at=0)
    shutil.rmtree(old)
    make(old, 1, [below], "rl", at=1)

    def body(partial: Path) -> dict[str, str]:
        run_gc(runs)
        with pytest.raises(InputError, match="a running stage reads it"):
            remove(by_number(runs)[1])
        return {}

    run_stage("reader", Config(number=9), {"x": old / "model"}, runs / "demo" / "reader", body)
    assert set(by_number(runs)) == {0, 1, 2, 9} and stale.manifest.name == "rl"

    def remaking(partial: Path) -> dict[str, str]:
        shutil.rmtree(runs / "demo" / "reader")
        with pytest.raises(InputError, match="another process is running this stage"):
            remove(by_number(runs)[1])
        return {}

    run_stage("rl", Config(number=1), {}, old, remaking, fresh=True)


SCRIPT = """
import sys
from pathlib import Path
from context1.lineage.garbage import remove
from context1.lineage.outputs import outputs_below
remove(next(outputs_below(Path(sys.argv[1]))))
"""


def test_killed_in_the_middle_an_output_is_whole_or_gone(tmp_path: Path) -> None:
    """Killed at many moments; what is found again is whole, and the next run sweeps the rest."""
    outcomes = set()
    for attempt in range(8):
        runs = tmp_path / str(attempt)

        def body(partial: Path) -> dict[str, str]:
            for number in range(3000):
                (partial / f"part-{number}").write_text("x")
            return {}

        run_stage("rl", Config(number=1), {}, runs / "demo" / "rl", body)
        whole = digest(runs / "demo" / "rl")
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(runs)])
        aside = runs / "demo" / ".rl.context1-removed"
        deadline = time.monotonic() + 60
        while (attempt and not aside.exists()) and process.poll() is None and time.monotonic() < deadline:
            pass
        time.sleep(attempt * 0.004)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (runs / "demo" / "rl").exists():
            assert digest(runs / "demo" / "rl") == whole and not aside.exists()
        outcomes.add((aside.exists(), (runs / "demo" / "rl").exists()))
        make(runs / "demo" / "newer", 2, [], "rl")
        run_gc(runs)
        assert [path.name for path in (runs / "demo").iterdir()] == ["newer"]
    assert (True, False) in outcomes, "no kill fell into a removal"


def test_times_decide_which_is_newest_not_names(tmp_path: Path) -> None:
    make(tmp_path / "demo" / "a", 1, [], "rl", at=5)
    make(tmp_path / "demo" / "b", 2, [], "rl", at=4)
    os.utime(tmp_path / "demo" / "a", (0, 0))  # the folder's own time says nothing
    assert newest(outputs_below(tmp_path), tmp_path) == {by_number(tmp_path)[1].id}
