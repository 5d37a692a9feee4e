"""Precedence, sources, secrets, and the errors that name a field and its neighbours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import ValidationError

from context1.errors import InputError
from context1.settings import PRESETS, Settings


def test_defaults_are_the_published_numbers() -> None:
    settings = Settings()
    budget = settings.profile.budget
    assert (budget.total, budget.call, budget.soft, budget.hard) == (32_768, 4_096, 20_000, 28_000)
    assert (budget.reserve, budget.turns_soft, budget.turns_max) == (2_048, 64, 128)
    assert (settings.rl.queries, settings.rl.rollouts, settings.rl.substeps, settings.rl.steps) == (
        128,
        8,
        4,
        230,
    )
    assert (settings.rl.w_min, settings.rl.w_max) == (0, 5)
    assert (settings.search.k1, settings.search.b, settings.search.rrf_k) == (1.2, 0.75, 60)
    assert (settings.reward.f_weight, settings.reward.trajectory_weight, settings.reward.answer_weight) == (
        0.7,
        0.3,
        1,
    )


def test_later_sources_win_and_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("rl:\n  steps: 30\n  queries: 31\n  rollouts: 32\n")
    monkeypatch.setenv("CONTEXT1_RL__QUERIES", "41")
    monkeypatch.setenv("CONTEXT1_RL__ROLLOUTS", "42")
    settings = Settings.load("smoke", file, {"rl.rollouts": 52})
    smoke = yaml.safe_load((PRESETS / "smoke.yaml").read_text())
    assert (settings.rl.steps, settings.rl.queries, settings.rl.rollouts) == (30, 41, 52)
    assert settings.rl.substeps == smoke["rl"]["substeps"] != Settings().rl.substeps
    sources = settings.sources()
    assert sources["rl.steps"] == f"file ({file}:2)"
    assert sources["rl.queries"] == "env CONTEXT1_RL__QUERIES"
    assert sources["rl.rollouts"] == "override"
    assert sources["rl.substeps"].startswith("profile smoke (")
    assert sources["rl.w_max"] == "default"


def test_environment_takes_json_for_lists_and_sections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT1_EVAL__ROLLOUTS", "[1, 8]")
    monkeypatch.setenv("CONTEXT1_TRACKING", '{"experiment": "mine"}')
    monkeypatch.setenv("CONTEXT1_RUNS", "/data/runs")
    settings = Settings.load()
    assert settings.eval.rollouts == [1, 8]
    assert settings.tracking.experiment == "mine"
    assert settings.runs == Path("/data/runs")
    assert settings.sources()["tracking.experiment"] == "env CONTEXT1_TRACKING"
    assert settings.sources()["tracking.uri"] == "default"


def test_a_whole_sub_model_is_an_override() -> None:
    budget = Settings.load("demo").profile.budget
    assert Settings.load(overrides={"profile": {"budget": budget}}).profile.budget == budget


def test_the_bare_tree_reads_nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT1_RL__STEPS", "7")
    assert Settings().rl.steps == 230


@pytest.mark.parametrize("preset", sorted(path.stem for path in PRESETS.glob("*.yaml")))
def test_presets_load_and_every_field_is_explained(preset: str) -> None:
    for path, _, source, doc in Settings.load(preset).rows():
        assert doc, f"{path} has no docstring"
        assert source == "default" or source.startswith(f"profile {preset} (")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rl:\n  stepz: 3\n", ["{file}:2", "`rl.stepz`", "`rl.steps`"]),
        ("budget:\n  total: 3\n", ["{file}:1", "`budget`", "`profile.budget`"]),
        ("rl: 3\n", ["{file}:1", "`rl` is a section"]),
        ("rl:\n  steps: many\n", ["{file}:2", "`rl.steps`", "integer"]),
        ("rl:\n  steps: -1\n", ["{file}:2", "`rl.steps`", "greater than or equal to 0"]),
        ("profile:\n  budget:\n    hard: 40000\n", ["{file}:3", "`profile.budget`", "soft <= hard < total"]),
        ("- rl\n", ["{file}:1", "mapping"]),
        ("rl:\n  steps: [3\n", ["{file}:", "not valid YAML"]),
        ("rl.steps.more: 3\n", ["{file}:1", "`rl.steps.more`"]),
        ("7: 3\n", ["{file}:1", "`7`"]),
    ],
)
def test_a_bad_file_is_named_with_line_and_field(tmp_path: Path, text: str, expected: list[str]) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        Settings.load(file=file)
    for part in expected:
        assert part.format(file=file) in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("CONTEXT1_RL__STEP", "3", ["CONTEXT1_RL__STEP", "`rl.steps`"]),
        ("CONTEXT1_RLSTEPS", "3", ["CONTEXT1_RLSTEPS", "`rlsteps`"]),
        ("CONTEXT1_RL__STEPS", "x", ["CONTEXT1_RL__STEPS", "`rl.steps`", "integer"]),
        ("CONTEXT1_EVAL__ROLLOUTS", "1,2", ["eval", "JSON"]),
        ("CONTEXT1_RL", "{}{", ["rl", "JSON"]),
    ],
)
def test_a_bad_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, expected: list[str]
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError) as caught:
        Settings.load("smoke")
    for part in expected:
        assert part in str(caught.value)


def test_a_missing_file_preset_or_override_is_named(tmp_path: Path) -> None:
    for arguments, part in [
        ({"profile": "demoo"}, "cluster, demo, smoke"),
        ({"file": tmp_path / "none.yaml"}, "none.yaml"),
        ({"overrides": {"rl.stps": 3}}, "`rl.steps`"),
    ]:
        with pytest.raises(InputError, match=part):
            Settings.load(**arguments)  # type: ignore[arg-type]


def test_settings_cannot_be_changed_in_place() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Settings().rl.steps = 3


def test_secrets_are_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2hunter2"
    monkeypatch.setenv("CONTEXT1_STORAGE__SECRET_KEY", secret)
    monkeypatch.setenv("CONTEXT1_STORAGE__ACCESS_KEY", secret)
    settings = Settings.load("demo")
    assert settings.storage.secret_key.get_secret_value() == secret
    printed = [
        repr(settings),
        str(settings),
        settings.model_dump_json(),
        str(settings.rows()),
        str(settings.sources()),
    ]
    for command in (["settings"], ["settings", "--json"], ["settings", "--set", "storage.secure=x"]):
        done = subprocess.run(
            [sys.executable, "-m", "context1.cli", *command], capture_output=True, text=True
        )
        printed += [done.stdout, done.stderr]
        assert done.returncode == (2 if "--set" in command else 0)
    assert all(secret not in text for text in printed)


def test_the_command_prints_value_source_and_docstring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT1_RL__STEPS", "7")
    command = [sys.executable, "-m", "context1.cli", "settings", "--profile", "smoke", "--json"]
    tree = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert tree["rl.steps"]["value"] == "7" and tree["rl.steps"]["source"] == "env CONTEXT1_RL__STEPS"
    assert "steps" in tree["rl.steps"]["doc"]
    assert list(tree) == list(Settings.load("smoke").sources())


def test_an_unknown_setting_leaves_by_status_2_with_one_line() -> None:
    command = [sys.executable, "-m", "context1.cli", "settings", "--set", "rl.stps=3"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert (
        done.stderr.startswith("error: ") and "`rl.steps`" in done.stderr and "Traceback" not in done.stderr
    )
