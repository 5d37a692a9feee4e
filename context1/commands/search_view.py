"""Draws the events of one search in the terminal as they come."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from context1.harness.episode import run_episode
from context1.harness.events import (
    Event,
    ObservationEvent,
    PruneEvent,
    ResultEvent,
    ToolCallEvent,
    TurnEvent,
    UsageEvent,
)
from context1.harness.profile import make_profile
from context1.models.load import load_model
from context1.policy.local import LocalPolicy
from context1.policy.policy import EpisodeKey
from context1.schema import Chunk, Trajectory
from context1.search.opening import open_backend
from context1.settings import Settings
from context1.tokens.tokenizer import load_tokenizer
from context1.training.stages import model_of

ZONES = {"normal": "green", "soft": "yellow", "hard": "red"}


def run_search(
    settings: Settings,
    question: str,
    model: Path,
    index: Path | None,
    temperature: float,
    seed: int,
    any_profile: bool,
) -> Trajectory:
    """Plays one episode and draws it."""
    console = Console(highlight=False)
    tokenizer = load_tokenizer(settings.profile.tokenizer)
    profile = make_profile(settings.profile, tokenizer)
    loaded = load_model(
        model_of(model), settings.model, tokenizer, profile_hash=profile.hash, override=any_profile
    )
    policy = LocalPolicy(loaded, tokenizer, temperature, name=model.name)
    backend = open_backend(settings, index)
    view = SearchView(console)
    console.print(Panel(escape(question), title="question", title_align="left", border_style="bold"))
    key = EpisodeKey(seed=seed, step=0, task_id="search", rollout=0)
    return asyncio.run(run_episode(question, policy, backend, profile, tokenizer, key, on_event=view.draw))


class SearchView:
    """Keeps what is needed to name chunks that were seen before."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.chunks: dict[str, Chunk] = {}

    def draw(self, event: Event) -> None:
        """Prints one event."""
        match event:
            case TurnEvent():
                self._turn(event)
            case ToolCallEvent():
                self._call(event)
            case ObservationEvent():
                self._observation(event)
            case PruneEvent():
                self.console.print(
                    f"  [magenta]- pruned {' '.join(event.chunk_ids)}[/] [dim]({event.freed} tokens freed)[/]"
                )
            case UsageEvent():
                self._usage(event)
            case ResultEvent():
                self._result(event.trajectory)

    def _turn(self, event: TurnEvent) -> None:
        self.console.rule(f"turn {event.turn + 1}  ({event.tokens} tokens)", align="left", style="dim")
        for thought in event.analysis:
            self.console.print(Text(thought.strip(), style="italic dim"))
        for error in event.errors:
            self.console.print(Text(f"  malformed: {error}", style="red"))

    def _call(self, event: ToolCallEvent) -> None:
        arguments = ", ".join(f"{name}={value!r}" for name, value in event.arguments.items())
        colour = "cyan" if event.status == "ok" else "red"
        self.console.print(Text(f"> {event.name}({arguments})", style=f"bold {colour}"))

    def _observation(self, event: ObservationEvent) -> None:
        if event.message and not event.chunks and event.name != "prune_chunks":
            self.console.print(
                Text(f"  {event.message.strip()}", style="red" if event.status != "ok" else "dim")
            )
        for chunk in event.chunks:
            self.chunks[chunk.id] = chunk
            self.console.print(_card(chunk))

    def _usage(self, event: UsageEvent) -> None:
        colour = ZONES.get(event.zone, "white")
        line = Table.grid(padding=(0, 1))
        bar = ProgressBar(event.total, event.used, width=40, complete_style=colour, finished_style=colour)
        line.add_row("  context", bar, f"{event.used:,}/{event.total:,} tokens")
        self.console.print(line)

    def _result(self, trajectory: Trajectory) -> None:
        self.console.rule("result", align="left")
        if trajectory.end != "answer":
            self.console.print(
                Text(f"no ranked list: {trajectory.end} {trajectory.error}".rstrip(), style="red")
            )
        for rank, chunk_id in enumerate(trajectory.final, 1):
            chunk = self.chunks.get(chunk_id)
            self.console.print(_card(chunk, f"{rank}. ") if chunk else f"{rank}. {chunk_id}")
            if chunk_id in trajectory.justifications:
                self.console.print(Text(f"    {trajectory.justifications[chunk_id]}", style="italic"))
        seconds = ", ".join(f"{name} {value:.2f} s" for name, value in trajectory.seconds.items())
        self.console.print(
            f"[dim]{trajectory.turns} turns, {len(trajectory.shown)} chunks seen, "
            f"{len(trajectory.pruned)} pruned, largest context {trajectory.peak_tokens:,} tokens; "
            f"{seconds}[/]"
        )


def _card(chunk: Chunk, before: str = "") -> Panel:
    text = Text(chunk.text.strip())
    text.truncate(400, overflow="ellipsis")
    return Panel(
        text,
        title=f"{before}[bold]{chunk.id}[/] {escape(chunk.title)}",
        title_align="left",
        subtitle=escape(chunk.domain) or None,
        subtitle_align="right",
        border_style="green" if before else "dim",
        width=100,
    )
