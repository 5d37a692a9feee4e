"""What `serve` and `mcp` share: options, and opening what they serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from context1.commands.options import Root, SettingsOptions, run_root
from context1.commands.search import Index, Model, model_and_index
from context1.settings import Settings

if TYPE_CHECKING:
    from context1.serving.service import Service


@dataclass(frozen=True)
class ServedOptions(SettingsOptions):
    """The options of the commands that serve a trained model."""

    root: Root = None
    model: Model = None
    index: Index = None

    def open(self, settings: Settings) -> Service:
        """Opens model, index, recording and traces. Raises `InputError` naming what is missing."""
        from context1.serving.opening import open_served
        from context1.serving.recording import Recorder
        from context1.serving.service import Service
        from context1.serving.traces import Traces
        from context1.storage import Storage

        folder = run_root(settings, self.profile, self.root)
        model, index = model_and_index(settings, folder, self.model, self.index)
        served = open_served(settings, model, index)
        serve = settings.serve
        recorder = None
        if serve.record:
            uri = settings.storage.uri or settings.runs.resolve().as_uri()
            recorder = Recorder(Storage(uri, settings.storage), serve.record_days)
        return Service(serve, served, recorder, Traces(serve.traces) if serve.traces else None)


def log_to_stderr(level: str = "INFO") -> None:
    """One line an event; neither questions nor keys are ever logged."""
    import logging

    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for name in ("faiss", "httpx", "mcp", "uvicorn"):
        logging.getLogger(name).setLevel(logging.WARNING)
