"""Options that the subcommands share, and what they turn into."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import SecretStr

from context1.errors import InputError
from context1.settings import Settings

Profile = Annotated[
    str,
    typer.Option("--profile", "-p", help="Preset of settings: demo, smoke or cluster.", show_default=True),
]
Config = Annotated[
    Path | None, typer.Option("--config", "-c", help="YAML file of settings, laid over the preset.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", "-s", help="One setting, as `rl.steps=3`; may be given many times.", metavar="KEY=VALUE"
    ),
]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root", "-r", help="Folder of the run; default `runs/PROFILE`. Each stage has a folder in it."
    ),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run anew even if the output could be reused.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Say what would be read, made and spent; change nothing.")
]
Corpus = Annotated[
    Path | None,
    typer.Option("--corpus", help="Folder of your own documents (JSONL, text, HTML, mbox; .gz too)."),
]

MAKERS = {"ingest": "data", "index": "data", "generate": "data", "sft": "sft", "rl": "rl", "evaluate": "eval"}
"""Stage -> the subcommand that runs it."""


@dataclass(frozen=True)
class SettingsOptions:
    """The options that settings are loaded from."""

    profile: Profile = "demo"
    config: Config = None
    overrides: Overrides = None

    def load(self) -> Settings:
        """Raises `InputError` naming the option that is wrong."""
        return Settings.load(self.profile, self.config, parse_overrides(self.overrides))


@dataclass(frozen=True)
class RunOptions(SettingsOptions):
    """The options of every command that runs stages."""

    root: Root = None
    fresh: Fresh = False
    dry_run: DryRun = False

    def folder(self, settings: Settings, corpus: Path | None = None) -> Path:
        """The run's folder; the stages' folders are in it."""
        return run_root(settings, self.profile, self.root, corpus)


def parse_overrides(overrides: list[str] | None, option: str = "--set") -> dict[str, Any]:
    """`["rl.steps=3", "eval.temperatures=[0]"]` -> `{"rl.steps": 3, "eval.temperatures": [0]}`."""
    values: dict[str, Any] = {}
    for item in overrides or []:
        key, equals, text = item.partition("=")
        if not equals or not key:
            raise InputError(f"{option} {item}: write it as KEY=VALUE, for example {option} rl.steps=3")
        try:
            values[key] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise InputError(f"{option} {item}: the value is not valid YAML: {error}") from None
    return values


def given(settings: Settings, environment: bool = False) -> dict[str, Any]:
    """What another process would not find by itself: it reads the preset, and here its environment too.

    With `environment` what this one says is told too, for a process elsewhere. Secrets are left out: a
    pipeline's parameters are stored and shown. So is `pipeline`, which no stage reads.
    """
    found = ("default", "profile") if environment else ("default", "profile", "env")
    values = {
        path: settings.value(path)
        for path, source in settings.sources().items()
        if not source.startswith(found) and not path.startswith("pipeline.")
    }
    plain = {path: value for path, value in values.items() if not _secret(value)}
    return json.loads(json.dumps(plain, default=str))


def _secret(value: Any) -> bool:
    values = value if isinstance(value, list) else [value]
    return any(isinstance(one, SecretStr) for one in values)


def run_root(settings: Settings, profile: str, root: Path | None, corpus: Path | None = None) -> Path:
    """Where a run keeps its stages: `runs/demo`, or `runs/demo-NAME` on the user's corpus NAME."""
    if root is not None:
        return root
    return settings.runs / (f"{profile}-{corpus.resolve().name}" if corpus else profile)


def need_stage(folder: Path) -> Path:
    """The folder, if a finished stage lies in it. Raises `InputError` naming the command that makes it."""
    if not (folder / "manifest.json").is_file():
        command = MAKERS.get(folder.name, "demo")
        raise InputError(
            f"{folder}: no finished stage there; make it with `context1 {command}`, or give --root"
        )
    return folder
