"""Every number that a user may change, in one tree; a docstring under each field.

`Settings()` holds the defaults: those of a cluster run. `Settings.load` lays a preset, a file, the
environment and overrides over them, in that order, and remembers where each field came from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SecretStr, ValidationError, model_validator
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from context1.errors import InputError
from context1.settings_sources import Given, from_environment, from_mapping, from_yaml, leaves, nest, shown

PRESETS = Path(__file__).parent / "profiles"


class Section(BaseModel):
    """Base of all groups of settings: frozen, unknown fields are errors, docstrings become descriptions."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, validate_default=True
    )


class Budget(Section):
    """The context budget of an episode, in tokens of the policy's own tokenizer."""

    total: int = Field(32_768, gt=0)
    """T: no context ever exceeds it."""
    call: int = Field(4_096, gt=0)
    """Most chunk text that one search, grep or read call may add."""
    soft: int = Field(20_000, gt=0)
    """From here on the usage message suggests to prune or to answer."""
    hard: int = Field(28_000, gt=0)
    """From here on only pruning and answering are allowed."""
    reserve: int = Field(2_048, gt=0)
    """The longest response; retrieval always leaves this much room."""
    turns_soft: int = Field(64, ge=1)
    """Turns beyond this are penalised."""
    turns_max: int = Field(128, ge=1)
    """The episode ends here."""
    malformed_max: int = Field(3, ge=1)
    """So many malformed turns in a row end the episode."""
    rerank_top: int = Field(50, ge=1)
    """Candidates of a search that are reranked and then packed."""
    grep_limit: int = Field(5, ge=1)
    """Most chunks that one grep shows."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not self.soft <= self.hard < self.total - self.reserve:
            raise ValueError("needs soft <= hard < total - reserve")
        if self.turns_soft > self.turns_max:
            raise ValueError("needs turns_soft <= turns_max")
        return self


class ProfileSettings(Section):
    """What the harness profile (the hashed contract between a model and its harness) is built from."""

    name: str = "full"
    """Names the profile; a trained model and its harness must agree on the whole of it."""
    tokenizer: str = "o200k"
    """`tiny` (shipped), `o200k` (gpt-oss), or a path to a tokenizer.json."""
    tools: list[str] = ["search_corpus", "grep_corpus", "read_document", "prune_chunks"]
    """Tools that the model is told of, in this order."""
    texts: Literal["full", "tiny"] = "full"
    """Which set of exact prompt and message texts; `tiny` is a few words, for a model that reads no more."""
    justifications: bool = True
    """Ask for one to three sentences why each document of the answer is there."""
    chunk_template: str = "[{id}] {title} (doc {doc_id})\n{text}\n"
    """How a chunk reads in the context; starts with `[` and ends with a newline."""
    budget: Budget = Budget()
    """The context budget."""


class CorpusSettings(Section):
    """From source files to chunks."""

    chunk_tokens: int = Field(512, gt=0)
    """Longest chunk, in tokens of the profile's tokenizer, packed from whole sentences."""
    id_groups: int = Field(5, ge=2, le=10)
    """Two-character groups of a chunk id: 3 reads `ba48du`, 5 reads `ba48du91ke`."""


class SearchSettings(Section):
    """Indexing and retrieval."""

    backend: Literal["embedded"] = "embedded"
    """`embedded`: an index in a folder, opened by memory map."""
    k1: float = Field(1.2, ge=0)
    """BM25 term saturation."""
    b: float = Field(0.75, ge=0, le=1)
    """BM25 length normalisation."""
    rrf_k: int = Field(60, ge=1)
    """Constant of reciprocal rank fusion."""
    candidates: int = Field(50, ge=1)
    """How many of BM25 and of dense search each go into the fusion."""
    reranker: Literal["scores", "none"] = "scores"
    """`scores`: the fused candidates are ordered by BM25 and cosine; `none`: they stay in fused order."""
    embedder: str = "minilm"
    """`minilm` (all-MiniLM-L6-v2 by ONNX) or `hash` (for tests: words hashed to a vector)."""
    language: str = "english"
    """Snowball stemmer of the analyser."""


class WorldSettings(Section):
    """Procedural worlds: documents whose ground truth is known."""

    domains: list[str] = ["web", "finance", "legal", "email"]
    """Styles to generate."""
    held_out: list[str] = ["email"]
    """Domains that never enter training."""
    worlds_train: int = Field(400, ge=1)
    """Worlds a domain whose tasks are trained on."""
    worlds_dev: int = Field(20, ge=0)
    """Worlds a domain for choosing settings."""
    worlds_test: int = Field(40, ge=1)
    """Worlds a domain for the final evaluation."""
    documents_per_world: int = Field(60, ge=4)
    """Documents in one world."""
    tasks_per_world: int = Field(8, ge=1)
    """Tasks drawn from one world before verification."""
    topics: int = Field(4, ge=2, le=40)
    """Subjects in one world; the fewer, the more documents look alike."""
    hops: list[int] = [1, 2, 3, 4]
    """Numbers of hops that tasks cycle through."""
    seed: int = 0
    """Seed of the worlds."""


class CorpusTaskSettings(Section):
    """Tasks from real documents, without a model."""

    tasks: int = Field(2_000, ge=1)
    """Tasks to aim for, all splits together."""
    test_share: float = Field(0.25, gt=0, lt=1)
    """Share of the text, in whole documents, whose tasks are for evaluation."""
    dev_share: float = Field(0.1, ge=0, lt=1)
    """Share of the text whose tasks are for choosing settings."""
    hops: list[Annotated[int, Field(ge=1, le=4)]] = [1, 2, 1, 2, 3, 2, 1, 4]
    """Numbers of hops that tasks aim at, in turn; a chain that finds no bridge stays shorter."""
    tries: int = Field(5, ge=1)
    """Candidates explored for each task aimed at; most are dropped by verification."""
    bridge_documents: int = Field(6, ge=2)
    """A value that more documents share is too common to be a bridge."""
    answer_chunks: int = Field(12, ge=1)
    """A value that more chunks hold is too common to be an answer."""
    clue_words: int = Field(14, ge=4)
    """Longest clue, in words, of a task of one hop; longer chains have shorter clues."""
    seed: int = 0
    """Seed of every choice."""


class VerifySettings(Section):
    """Verification of tasks by extraction, and the look-alikes beside them."""

    support: float = Field(0.4, ge=0, le=1)
    """A fact's chunk holds at least this share (by rarity) of the words of its clue's quote."""
    equivalent: float = Field(0.8, ge=0, le=1)
    """Another chunk with the answer and this share of the clue's words holds the same fact."""
    ambiguous: float = Field(0.6, ge=0, le=1)
    """From this share up to `equivalent` nobody can tell: the task is dropped."""
    most_equivalents: int = Field(6, ge=0)
    """A fact that more other chunks hold is too easy to meet by chance: the task is dropped."""
    grep_limit: int = Field(200, ge=1)
    """An answer that more chunks hold cannot be checked: the task is dropped."""
    search_limit: int = Field(20, ge=1)
    """Chunks looked at for each search of a clue."""
    distractors: int = Field(6, ge=0)
    """Most distractors kept a task."""
    distractors_min: int = Field(1, ge=0)
    """A task with fewer look-alikes is dropped."""
    concurrency: int = Field(32, ge=1)
    """Candidates checked at once; the outcome does not depend on it."""


class TeacherSettings(Section):
    """The scripted teacher that knows the gold chunks and is deliberately imperfect."""

    stop_early: float = Field(0.12, ge=0, le=1)
    """Chance a turn of answering before the last hop was found."""
    bad_query: float = Field(0.12, ge=0, le=1)
    """Chance a search of dropping words of the query."""
    double_query: float = Field(0.3, ge=0, le=1)
    """Chance of a second search in the same turn."""
    skip_prune: float = Field(0.5, ge=0, le=1)
    """Chance a turn of not pruning although there is junk; a tenth of it over the soft threshold."""
    keep_junk: float = Field(0.3, ge=0, le=1)
    """Chance a junk chunk of escaping a prune."""
    prune_gold: float = Field(0.03, ge=0, le=1)
    """Chance a gold chunk of being pruned by mistake."""
    answer_junk: float = Field(0.35, ge=0, le=1)
    """Chance a visible junk chunk of entering the answer."""
    drop_gold: float = Field(0.06, ge=0, le=1)
    """Chance a found gold chunk of missing from the answer."""
    tries: int = Field(3, ge=1)
    """Searches for one hop before the teacher gives up."""
    note_words: int = Field(14, ge=1)
    """Longest note about a piece of evidence, in words."""
    seed: int = 0
    """Seed of the slips."""


class RewardSettings(Section):
    """Weights of the reward; the defaults are the published form."""

    f_weight: float = 0.7
    """Weight of F_beta of the final list."""
    trajectory_weight: float = 0.3
    """Weight of trajectory recall."""
    answer_weight: float = 1.0
    """Bonus when the final list holds a chunk that contains the truth."""
    epsilon: float = 0.01
    """Penalties never take a positive reward below this."""
    prune_rate: float = 0.1
    """Penalty a prune call beyond `prune_free` in an unbroken streak."""
    prune_free: int = 3
    """Prune calls in a row that cost nothing."""
    prune_cap: float = 0.5
    """Largest prune penalty."""
    turn_scale: float = 0.5
    """Penalty at `turns_max`, growing from 0 at `turns_soft`."""
    prune_credit: float = 0.0
    """Weight of the optional credit for pruning chunks that are not gold."""


class ModelSettings(Section):
    """Which model, or the shape of the tiny one."""

    path: str = "openai/gpt-oss-20b"
    """A Hugging Face name or folder; `tiny` builds a fresh model of the shape below."""
    hidden: int = Field(128, ge=8)
    """Width of the tiny model."""
    layers: int = Field(4, ge=1)
    """Depth of the tiny model."""
    heads: int = Field(4, ge=1)
    """Attention heads of the tiny model."""
    kv_heads: int = Field(2, ge=1)
    """Key-value heads of the tiny model."""
    head_dim: int = Field(32, ge=4)
    """Width of a head of the tiny model."""
    ffn: int = Field(256, ge=8)
    """Width of the tiny model's feed-forward layer."""
    lora_rank: int = Field(32, ge=0)
    """Rank of LoRA adapters; 0 trains all weights."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Weights' type."""
    seed: int = 0
    """Seed of fresh weights."""


class TrainSettings(Section):
    """What SFT and RL share: processes and optimizer."""

    procs: int = Field(2, ge=1)
    """Data-parallel processes on this machine."""
    threads: int = Field(1, ge=1)
    """CPU threads a process."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where to train."""
    zero_stage: int = Field(2, ge=0, le=3)
    """DeepSpeed ZeRO stage; 2 with LoRA on a cluster, 0 for the tiny model."""
    gradient_checkpointing: bool = False
    """Recompute layers in the backward pass: less memory for about a third more time."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay."""
    grad_clip: float = Field(1.0, gt=0)
    """Largest global gradient norm."""
    micro_tokens: int = Field(32_768, ge=64)
    """Padded tokens of one micro-batch."""
    checkpoint_every: int = Field(10, ge=1)
    """Steps between checkpoints; a killed run continues from the last one."""
    checkpoint_keep: int = Field(2, ge=1)
    """Checkpoints that stay on disk."""
    seed: int = 0
    """Seed of data order and sampling."""


class SftSettings(Section):
    """Supervised fine-tuning on a teacher's trajectories."""

    tasks: int = Field(20_000, ge=1)
    """Training tasks that the teacher plays; fewer if there are fewer."""
    rollouts: int = Field(2, ge=1)
    """Teacher rollouts a task."""
    epochs: float = Field(2.0, gt=0)
    """Passes over the kept rows."""
    batch_tokens: int = Field(262_144, ge=64)
    """Trained and context tokens of one optimizer step, over all processes."""
    lr: float = Field(1e-4, gt=0)
    """Peak learning rate of AdamW parameters."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """`muon`: Muon for matrices with AdamW for the rest (ZeRO stage 0 only)."""
    lr_matrix: float = Field(0.004, gt=0)
    """Peak learning rate of Muon's matrices, on AdamW's scale."""
    steps: int = Field(0, ge=0)
    """Optimizer steps, warm-up rows included; 0: as many as `epochs` needs."""
    warmup: float = Field(0.05, ge=0, le=1)
    """Share of the steps in which the learning rate rises linearly."""
    cooldown: float = Field(0.5, ge=0, le=1)
    """Share of the steps, at the end, in which it falls linearly."""
    env_weight: float = Field(0.0, ge=0, le=1)
    """Loss weight of tokens that the environment wrote (results, usage, questions); sampled ones weigh 1."""
    rename: bool = False
    """Give every row other names and words each time it is used: for a tiny model, which would rather
    remember its few documents than read them."""
    warm: dict[str, float] = {}
    """Warm-up rows that come first, in this order: name of the rows file and its share of the steps."""
    keep_trajectory_recall: float = Field(0.5, gt=0)
    """Kept with probability min(1, trajectory recall / this) ..."""
    keep_output_recall: float = Field(0.4, gt=0)
    """... times min(1, output recall / this)."""
    zero_recall_share: float = Field(0.05, ge=0, le=1)
    """Most kept trajectories that found nothing."""


class RlSettings(Section):
    """CISPO: rollouts of groups, one pass in substeps."""

    steps: int = Field(230, ge=0)
    """Optimization steps; 0 skips RL."""
    queries: int = Field(128, ge=1)
    """Tasks a step."""
    rollouts: int = Field(8, ge=2)
    """Rollouts a task: the group."""
    substeps: int = Field(4, ge=1)
    """Optimizer steps that one batch is dealt to."""
    temperature: float = Field(1.0, gt=0)
    """Sampling temperature; the same on both sides of the ratio."""
    lr: float = Field(1e-5, gt=0)
    """Peak learning rate of AdamW parameters."""
    optimizer: Literal["adamw", "muon"] = "adamw"
    """`muon`: Muon for matrices with AdamW for the rest (ZeRO stage 0 only)."""
    lr_matrix: float = Field(0.0005, gt=0)
    """Peak learning rate of Muon's matrices, on AdamW's scale."""
    rate_warmup: int = Field(3, ge=1)
    """Steps in which the learning rate rises linearly; constant afterwards."""
    w_min: float = Field(0.0, ge=0)
    """Lower bound of the importance weight."""
    w_max: float = Field(5.0, gt=0)
    """Upper bound of the importance weight."""
    std_floor: float = Field(0.1, gt=0)
    """Advantages divide by max(population std, this)."""
    group_min: int = Field(4, ge=2)
    """A group with fewer surviving rollouts is dropped."""
    lost_max: float = Field(0.05, ge=0, le=1)
    """A step that loses a larger share of its rollouts to infrastructure fails."""
    beta_start: float = Field(4.0, gt=0)
    """beta of F_beta at first (beta squared 16) ..."""
    beta_end: float = Field(2.0, gt=0)
    """... and at last (beta squared 4)."""
    beta_hold: float = Field(0.4, ge=0, le=1)
    """Share of the steps before beta squared starts to fall, linearly."""
    wave: int = Field(128, ge=1)
    """Episodes that run at once on one process; whole groups, fixed membership and order."""
    easy_share: float = Field(0.5, ge=0, le=1)
    """Share of the steps in the first phase of the curriculum."""
    hop_weight_easy: float = Field(0.6, gt=0)
    """First phase: a task of h + 1 hops is so many times as likely as one of h."""
    hop_weight_hard: float = Field(1.5, gt=0)
    """Second phase: the same."""


class EvalSettings(Section):
    """The four benchmarks."""

    tasks: int = Field(200, ge=1)
    """Test tasks a domain; fewer if there are fewer."""
    rollouts: list[int] = [1, 4]
    """Rollouts a task whose final lists are fused."""
    temperatures: list[float] = [1.0, 0.0]
    """Sampling temperatures; 0 is greedy."""
    bootstrap: int = Field(2_000, ge=10)
    """Resamples behind a 95% interval."""
    beta: float = Field(2.0, gt=0)
    """beta of F_beta in every evaluation."""
    seed: int = 0
    """Seed of sampling and of the bootstrap."""


class TrackingSettings(Section):
    """MLflow."""

    uri: str = ""
    """Tracking server; empty: a SQLite file `mlflow.db` in the runs folder."""
    experiment: str = "context1"
    """Experiment that runs are filed under."""


class StorageSettings(Section):
    """Where artifacts are kept beyond this machine."""

    uri: str = ""
    """`file:///folder` or `s3://bucket/prefix`; empty: nothing is uploaded."""
    endpoint: str = ""
    """S3 endpoint, `host:port`; empty: Amazon's."""
    region: str = "us-east-1"
    """S3 region."""
    access_key: SecretStr = SecretStr("")
    """S3 access key; never printed or stored."""
    secret_key: SecretStr = SecretStr("")
    """S3 secret key; never printed or stored."""
    secure: bool = True
    """HTTPS."""
    path_style: bool = True
    """`host/bucket/key` rather than `bucket.host/key`."""


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
    world: WorldSettings = WorldSettings()
    corpus_tasks: CorpusTaskSettings = CorpusTaskSettings()
    verify: VerifySettings = VerifySettings()
    teacher: TeacherSettings = TeacherSettings()
    reward: RewardSettings = RewardSettings()
    model: ModelSettings = ModelSettings()
    train: TrainSettings = TrainSettings()
    sft: SftSettings = SftSettings()
    rl: RlSettings = RlSettings()
    eval: EvalSettings = EvalSettings()
    tracking: TrackingSettings = TrackingSettings()
    storage: StorageSettings = StorageSettings()

    _given: dict[str, Given] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(  # type: ignore[override]
        cls, settings_cls: Any, init_settings: Any, **_: Any
    ) -> Any:
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
