"""The whole tree, and how it is loaded and shown."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import PrivateAttr, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from context1.errors import InputError
from context1.settings.cluster import ClusterSettings
from context1.settings.corpus import CorpusSettings, SearchSettings
from context1.settings.evaluation import EvalSettings, RegistrySettings
from context1.settings.fields import Given, leaves, nest, shown
from context1.settings.opensearch import OpenSearchSettings
from context1.settings.pipeline import PipelineSettings
from context1.settings.profile import ProfileSettings
from context1.settings.reward import RewardSettings
from context1.settings.rl import RlSettings
from context1.settings.services import StorageSettings, TrackingSettings
from context1.settings.serving import ServeSettings
from context1.settings.sft import SftSettings
from context1.settings.sources import from_environment, from_mapping, from_yaml
from context1.settings.tasks import AuditSettings, CorpusTaskSettings, VerifySettings, WorldSettings
from context1.settings.teacher import TeacherSettings
from context1.settings.training import ModelSettings, TrainSettings
from context1.settings.vllm import VllmSettings

PRESETS = Path(__file__).parents[1] / "profiles"


class Settings(BaseSettings):
    """The whole tree. Environment variables read `CONTEXT1_RL__STEPS=3`."""

    model_config = SettingsConfigDict(
        env_prefix="CONTEXT1_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        validate_default=True,
    )

    runs: Path = Path("runs")
    """Folder that holds everything a run makes."""
    seed: int = 0
    """Seed of whatever has none of its own."""
    profile: ProfileSettings = ProfileSettings()
    corpus: CorpusSettings = CorpusSettings()
    search: SearchSettings = SearchSettings()
    opensearch: OpenSearchSettings = OpenSearchSettings()
    world: WorldSettings = WorldSettings()
    corpus_tasks: CorpusTaskSettings = CorpusTaskSettings()
    verify: VerifySettings = VerifySettings()
    audit: AuditSettings = AuditSettings()
    teacher: TeacherSettings = TeacherSettings()
    reward: RewardSettings = RewardSettings()
    model: ModelSettings = ModelSettings()
    train: TrainSettings = TrainSettings()
    sft: SftSettings = SftSettings()
    rl: RlSettings = RlSettings()
    eval: EvalSettings = EvalSettings()
    registry: RegistrySettings = RegistrySettings()
    pipeline: PipelineSettings = PipelineSettings()
    vllm: VllmSettings = VllmSettings()
    tracking: TrackingSettings = TrackingSettings()
    storage: StorageSettings = StorageSettings()
    serve: ServeSettings = ServeSettings()
    cluster: ClusterSettings = ClusterSettings()

    _given: dict[str, Given] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """`Settings(...)` alone takes only its arguments; `load` reads the outside world."""
        return (init_settings,)

    @classmethod
    def load(
        cls,
        profile: str | None = None,
        file: Path | str | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Self:
        """Settings from overrides > environment > file > preset `profile` > defaults.

        `overrides` may be nested or dotted (`{"rl.steps": 3}`). Raises `InputError` on an unknown
        preset, key or variable, and on a value that does not fit its field.
        """
        given: list[Given] = []
        if profile is not None:
            given += from_yaml(cls, preset_path(profile), f"profile {profile}")
        if file is not None:
            given += from_yaml(cls, Path(file), "file")
        given += _environment(cls)
        given += from_mapping(cls, overrides or {}, "override")
        last = {one.path: one for one in given}
        try:
            settings = cls(**nest(last))
        except ValidationError as error:
            raise InputError(_explain(error, last)) from None
        settings._given.update(last)
        return settings

    def sources(self) -> dict[str, str]:
        """For each leaf field, in order, where its value came from."""
        return {
            path: self._given[path].source if path in self._given else "default"
            for path, _ in leaves(type(self))
        }

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(path, value with secrets masked, source, docstring) of each leaf field, in order."""
        sources = self.sources()
        return [
            (path, shown(self.value(path)), sources[path], field.description or "")
            for path, field in leaves(type(self))
        ]

    def value(self, path: str) -> Any:
        """The value at a dotted path."""
        node: Any = self
        for name in path.split("."):
            node = getattr(node, name)
        return node


def preset_path(name: str) -> Path:
    """The YAML file of a preset; `InputError` names those that exist."""
    path = PRESETS / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(preset.stem for preset in PRESETS.glob("*.yaml")))
        raise InputError(f"--profile {name}: no such preset; there are {known}")
    return path


def _environment(cls: type[Settings]) -> list[Given]:
    prefix, delimiter = "CONTEXT1_", "__"
    try:
        values = EnvSettingsSource(cls)()
    except Exception as error:  # pydantic-settings wraps every parsing failure in its own error
        raise InputError(f"environment: {error}; lists and sections are written as JSON") from None
    return from_environment(cls, values, os.environ, prefix, delimiter)


def _explain(error: ValidationError, given: Mapping[str, Given]) -> str:
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        path = ".".join(str(part) for part in problem["loc"])
        owner = next((one for one in given if path == one or path.startswith(f"{one}.")), None)
        inside = sorted({one.source for name, one in given.items() if name.startswith(f"{path}.")})
        source = given[owner].source if owner else ", ".join(inside) or "settings"
        lines.append(f"{source}: `{path}`: {problem['msg']}")
    return "\n".join(lines)
