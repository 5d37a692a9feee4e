"""Options that subcommands share."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from context1.commands.flat import flat
from context1.commands.options import Corpus, RunOptions, given, need_stage, parse_overrides, run_root
from context1.errors import InputError
from context1.settings import Settings


def test_overrides_are_yaml_values() -> None:
    given = ["rl.steps=3", "eval.temperatures=[0.7, 0]", "model.path=tiny", "search.embedder=a=b"]
    assert parse_overrides(given) == {
        "rl.steps": 3,
        "eval.temperatures": [0.7, 0],
        "model.path": "tiny",
        "search.embedder": "a=b",
    }


@pytest.mark.parametrize("item", ["rl.steps", "=3", "rl.steps=[1"])
def test_bad_override_names_itself(item: str) -> None:
    with pytest.raises(InputError, match="--set"):
        parse_overrides([item])


def test_run_root() -> None:
    settings = Settings.load(profile="smoke")
    assert run_root(settings, "smoke", None) == Path("runs/smoke")
    assert run_root(settings, "smoke", None, Path("/data/my mail/")) == Path("runs/smoke-my mail")
    assert run_root(settings, "smoke", Path("x"), Path("/data/mail")) == Path("x")


def test_need_stage_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="context1 sft"):
        need_stage(tmp_path / "sft")


def test_a_group_of_options_is_given_as_its_options() -> None:
    seen: list[tuple[Path | None, RunOptions]] = []

    def command(*, corpus: Corpus = None, options: RunOptions) -> None:
        seen.append((corpus, options))

    app = typer.Typer()
    app.command()(flat(command))
    runner = CliRunner()
    assert runner.invoke(app, []).exit_code == 0
    arguments = ["--corpus", "/mail", "-p", "smoke", "-s", "a=1", "--set", "b=2", "-r", "x", "--dry-run"]
    assert runner.invoke(app, arguments).exit_code == 0
    assert seen == [
        (None, RunOptions()),
        (
            Path("/mail"),
            RunOptions(profile="smoke", overrides=["a=1", "b=2"], root=Path("x"), dry_run=True),
        ),
    ]


def test_what_another_process_must_be_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTEXT1_RL__LR", "0.5")
    monkeypatch.setenv("CONTEXT1_SERVE__KEYS", '["canary"]')
    (tmp_path / "mine.yaml").write_text(
        "runs: here\nopensearch: {password: canary}\npipeline: {claim: shared}\n"
    )
    settings = Settings.load("smoke", tmp_path / "mine.yaml", {"rl.steps": 3, "storage.secret_key": "canary"})
    assert given(settings) == {"runs": "here", "rl.steps": 3}
    assert given(settings, environment=True) == {"runs": "here", "rl.steps": 3, "rl.lr": 0.5}
