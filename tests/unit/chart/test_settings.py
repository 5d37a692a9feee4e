"""The agent reads what the chart writes for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from context1.settings import Settings
from tests.unit.chart.chart import RELEASES, container, named, pods


def written(release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings as the agent's container loads them, its variables included."""
    file = tmp_path / "settings.yaml"
    file.write_text(named(release, "ConfigMap", "-agent")["data"]["settings.yaml"])
    for entry in container(release, "-agent", "agent")["env"]:
        if entry["name"].startswith("CONTEXT1_"):
            monkeypatch.setenv(entry["name"], "from-a-secret")
    return Settings.load("cluster", file)


@pytest.mark.parametrize("release", RELEASES)
def test_settings_load(release: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = written(release, tmp_path, monkeypatch)
    assert settings.serve.host == "0.0.0.0"
    service = named(
        release,
        "Service",
        f"-{pods(release)[f'{release}-context1-vllm']['metadata']['labels']['context1/model']}",
    )
    assert settings.vllm.url == f"http://{service['metadata']['name']}:8000"
    assert settings.vllm.model == settings.serve.pins.model
    assert (
        settings.serve.drain
        < named(release, "Deployment", "-agent")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    )
    assert settings.serve.open == (not settings.serve.keys_file)


def test_a_release_pins_all_of_its_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pins = written("full", tmp_path, monkeypatch).serve.pins
    assert (pins.model, pins.tokenizer, pins.harness_profile, pins.index) == (
        "agent-7-3f2c9a8b1d4e",
        "o200k-9f8e7d",
        "5b1e0c",
        "cb9d7371218fb610",
    )


def test_secrets_and_settings_of_the_user_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = written("full", tmp_path, monkeypatch)
    assert settings.opensearch.password.get_secret_value() == "from-a-secret"
    assert settings.opensearch.username == "agent"
    assert settings.opensearch.ca_bundle == "/etc/context1/ca/ca.crt"
    assert settings.vllm.key.get_secret_value() == "from-a-secret"
    assert settings.storage.endpoint == "s3.internal:9000"
    assert settings.serve.searches == 16
    assert settings.serve.port == 8080, "what the user does not set stays"
