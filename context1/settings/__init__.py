"""Every number that a user may change, in one tree; a docstring under each field.

`Settings()` holds the defaults: those of a cluster run. `Settings.load` lays a preset, a file, the
environment and overrides over them, in that order, and remembers where each field came from.
"""

from context1.settings.cluster import ClusterSettings
from context1.settings.corpus import CorpusSettings, SearchSettings
from context1.settings.endpoints import EmbeddingSettings, EndpointSettings, RerankingSettings
from context1.settings.evaluation import EvalSettings, RegistrySettings
from context1.settings.opensearch import OpenSearchSettings
from context1.settings.pipeline import PipelineSettings, PodSettings
from context1.settings.profile import Budget, ProfileSettings
from context1.settings.reward import RewardSettings
from context1.settings.rl import RlSettings
from context1.settings.services import StorageSettings, TrackingSettings
from context1.settings.serving import PinsSettings, ServeSettings
from context1.settings.sft import SftSettings
from context1.settings.tasks import AuditSettings, CorpusTaskSettings, VerifySettings, WorldSettings
from context1.settings.teacher import TeacherSettings
from context1.settings.training import ModelSettings, TrainSettings
from context1.settings.tree import PRESETS, Settings
from context1.settings.vllm import VllmSettings

__all__ = [
    "PRESETS",
    "AuditSettings",
    "Budget",
    "ClusterSettings",
    "CorpusSettings",
    "CorpusTaskSettings",
    "EmbeddingSettings",
    "EndpointSettings",
    "EvalSettings",
    "ModelSettings",
    "OpenSearchSettings",
    "PinsSettings",
    "PipelineSettings",
    "PodSettings",
    "ProfileSettings",
    "RegistrySettings",
    "RerankingSettings",
    "RewardSettings",
    "RlSettings",
    "SearchSettings",
    "ServeSettings",
    "Settings",
    "SftSettings",
    "StorageSettings",
    "TeacherSettings",
    "TrackingSettings",
    "TrainSettings",
    "VerifySettings",
    "VllmSettings",
    "WorldSettings",
]
