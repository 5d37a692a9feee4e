"""schemathesis against the server's own OpenAPI description: no answer that it does not name, no crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.serving.conftest import agent_server


@pytest.mark.slow
def test_the_server_keeps_to_its_own_description(tmp_path: Path) -> None:
    with agent_server(tmp_path, turns=1, serve={"searches": 16}) as agent:
        command = [
            str(Path(sys.executable).with_name("schemathesis")), "run", f"{agent.url}/openapi.json",
            "--max-examples", "30", "--seed", "1", "--workers", "2",
            "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,"
            "response_schema_conformance,negative_data_rejection",
        ]  # fmt: skip
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stdout[-5_000:] + done.stderr[-1_000:]
        assert "Traceback" not in "".join(agent.log)
        assert agent.ask().status == 200
