"""Trajectories and feedback kept for training, where `serve.record` is set."""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from context1.errors import InputError, StorageUnavailable
from context1.serving.search import Search
from context1.storage import Storage

log = logging.getLogger(__name__)

FOLDER = "recorded"


class Recorder:
    """One object a search, `recorded/YYYY-MM-DD/ID.json`; feedback in `ID.feedback.json` beside it.

    Days older than `days` are deleted, once a day. Trouble with the store costs the recording alone.
    """

    def __init__(self, storage: Storage, days: int) -> None:
        self._storage, self._days = storage, days
        self._cleaned: date | None = None

    async def keep(self, search: Search) -> None:
        """Writes the search's trajectories."""
        await self._write(
            f"{search.id}.json",
            {
                "id": search.id,
                "query": search.ask.query,
                "trajectories": [one.model_dump(mode="json") for one in search.trajectories],
            },
        )

    async def feedback(self, search_id: str, useful: Sequence[str], comment: str) -> None:
        """Writes which chunks were useful to the client; a later word replaces an earlier one of the day."""
        await self._write(
            f"{search_id}.feedback.json", {"id": search_id, "useful": list(useful), "comment": comment}
        )

    async def _write(self, name: str, value: dict[str, Any]) -> None:
        today = datetime.now(UTC).date()
        try:
            await asyncio.to_thread(self._put, f"{FOLDER}/{today.isoformat()}/{name}", value)
            if self._cleaned != today:
                self._cleaned = today
                await asyncio.to_thread(self._clean, today)
        except (InputError, StorageUnavailable) as error:
            log.error("%s is not recorded: %s", name, error)

    def _put(self, key: str, value: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "record.json"
            path.write_text(json.dumps(value), encoding="utf-8")
            self._storage.put(path, key)

    def _clean(self, today: date) -> None:
        oldest = (today - timedelta(days=self._days)).isoformat()
        for key in self._storage.list(FOLDER):
            day = key.split("/")[1]
            if day < oldest:
                self._storage.delete(key)
