"""What turns a run red with processes does so with containers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.pipelines.test_red import WAYS, check

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("how", ["well", *WAYS])
def test_containers(how: str, docker: dict[str, str], tmp_path: Path) -> None:
    check(how, tmp_path, "docker", docker)
