"""The agent server: `context1 serve` and `context1 mcp`."""

from __future__ import annotations

from pydantic import Field, SecretStr

from context1.settings.section import Section


class PinsSettings(Section):
    """What a release consists of, by id. A part that is given and differs stops the server at its start."""

    model: str = ""
    """Id of the model, as `/status` names it."""
    tokenizer: str = ""
    """Id of the tokenizer."""
    harness_profile: str = ""
    """Hash of the harness profile."""
    index: str = ""
    """Id of the search index."""


class ServeSettings(Section):
    """Read by `context1 serve`; `context1 mcp` reads what is not of HTTP."""

    host: str = "127.0.0.1"
    """Address to listen at; `0.0.0.0` is reachable from other machines, and wants keys."""
    port: int = Field(8080, ge=0, le=65_535)
    """Port to listen at; 0: a free one, printed at the start."""
    keys: list[SecretStr] = Field([], exclude=True)
    """Keys that clients may show; never printed or stored. In the environment: a JSON list."""
    keys_file: str = ""
    """File with one more key a line, as a mounted Secret is; read again when it changes."""
    open: bool = False
    """Serve other machines without any key."""
    searches: int = Field(8, ge=1)
    """Searches that run at once; each may be several rollouts."""
    queue: int = Field(32, ge=0)
    """Searches that wait for a place; further ones are answered with 429."""
    deadline: float = Field(300, gt=0)
    """Seconds that a search may take, waiting included."""
    resume_grace: float = Field(0, ge=0, le=30)
    """Seconds that a search goes on after its client has left, so that it can come back for the rest."""
    keep: float = Field(600, ge=0)
    """Seconds that a search is remembered after its end."""
    keep_searches: int = Field(200, ge=1)
    """Most ended searches remembered; the oldest are forgotten first."""
    drain: float = Field(60, ge=0)
    """Seconds that running searches have left after SIGTERM."""
    body_bytes: int = Field(65_536, ge=1)
    """Longest request body."""
    body_seconds: float = Field(10, gt=0)
    """Seconds within which a request's body has to arrive."""
    rate: int = Field(0, ge=0)
    """Requests a minute of one client, by key or else by address; 0: no limit."""
    temperature: float = Field(0.7, ge=0)
    """Of the sampling. With 0 all rollouts of a search are the same."""
    replica: str = Field("", pattern=r"^[A-Za-z0-9-]{0,63}$")
    """Name of this server in ids of searches; empty: the host's."""
    record: bool = False
    """Keep every trajectory, with its question, in `storage.uri` (empty: `runs/recorded`)."""
    record_days: int = Field(30, ge=1)
    """Days after which a recording is deleted."""
    traces: str = ""
    """OTLP address (HTTP) that traces of searches are sent to: `http://collector:4318/v1/traces`."""
    pins: PinsSettings = PinsSettings()
