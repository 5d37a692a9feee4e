"""The model and a server of it, once a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from transformers import GptOssForCausalLM

from tests.conftest import free_ports
from tests.integration.vllm.model import learned
from tests.integration.vllm.server import Server, serving, skip_without_vllm

TOWER = 3
"""Number of the tower whose episode the model knows by heart."""


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, GptOssForCausalLM]:
    """The trained model and its folder."""
    skip_without_vllm()
    folder = tmp_path_factory.mktemp("gpt-oss")
    return folder, learned([TOWER], folder)


@pytest.fixture(scope="session")
def server(
    checkpoint: tuple[Path, GptOssForCausalLM], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server that the session's tests share; none of them stops it."""
    with serving(checkpoint[0], tmp_path_factory.mktemp("vllm"), *free_ports(1)) as running:
        yield running
