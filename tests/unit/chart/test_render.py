"""The chart lints, renders with every value file, and renders as it did before."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.unit.chart.chart import CHART, HERE, RELEASES, files, helm, objects, template, text

GOLDEN = HERE / "golden"


@pytest.mark.parametrize("release", RELEASES)
def test_lint_finds_nothing(release: str) -> None:
    done = helm("lint", "--strict", CHART, *files(release))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_value_file_is_rendered_by_some_release() -> None:
    shipped = set(CHART.glob("values-*.yaml"))
    assert shipped == {file for given in RELEASES.values() for file in given if isinstance(file, Path)}


@pytest.mark.parametrize("release", RELEASES)
def test_renders_as_before(release: str) -> None:
    """Update with `CONTEXT1_TEST_GOLDEN=write pytest tests/unit/chart/test_render.py`, and read the diff."""
    golden = GOLDEN / f"{release}.yaml"
    if os.environ.get("CONTEXT1_TEST_GOLDEN") == "write":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text(release), encoding="utf-8")
    assert text(release) == golden.read_text(encoding="utf-8"), "changed; see the docstring"


def test_a_change_of_a_template_is_seen(tmp_path: Path) -> None:
    changed = tmp_path / "chart"
    shutil.copytree(CHART, changed)
    service = changed / "templates" / "vllm-service.yaml"
    service.write_text(service.read_text().replace("8000", "8008"))
    done = helm("template", "b200", changed, "--namespace=search", *files("b200"))
    assert done.returncode == 0, done.stderr
    assert done.stdout != text("b200")


@pytest.mark.parametrize("release", RELEASES)
def test_names_are_unique_and_all_are_of_this_release(release: str) -> None:
    names = [(one["kind"], one["metadata"]["name"]) for one in objects(release)]
    assert len(names) == len(set(names))
    for one in objects(release):
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == release


def test_a_long_release_name_still_fits() -> None:
    name = "a" * 53  # helm's own limit
    done = helm("template", name, CHART, *files("full"))
    assert done.returncode == 0, done.stderr
    rendered = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("  name: ")]
    assert rendered and all(len(name.strip('"')) <= 63 for name in rendered)


def test_what_needs_foreign_resources_is_off_by_default() -> None:
    groups = {one["apiVersion"].partition("/")[0] for one in objects("b200")}
    assert groups == {"v1", "apps", "policy", "networking.k8s.io", "rbac.authorization.k8s.io"}


def test_notes_give_a_first_search_and_warn_of_what_is_open() -> None:
    # `helm template` leaves the notes out; an installation that is only tried prints them.
    done = helm("install", "cpu", CHART, "--dry-run=client", *files("cpu"))
    assert done.returncode == 0, done.stderr
    notes = done.stdout.partition("NOTES:")[2]
    assert "--timeout 45m" in notes
    assert "curl" in notes and "/v1/search" in notes
    assert "whoever reaches the Service may search" in notes
    assert "pins.index is empty" in notes

    done = helm("install", "full", CHART, "--dry-run=client", *files("full"))
    notes = done.stdout.partition("NOTES:")[2]
    assert "Authorization: Bearer $KEY" in notes
    assert "WARNING" not in notes


def test_images_of_a_company_registry_and_by_digest() -> None:
    digest = f"sha256:{'0' * 64}"
    done = template("full", f"--set=vllm.image.digest={digest}")
    images = {line.split("image: ")[1] for line in done.stdout.splitlines() if " image: " in line}
    assert images == {
        "registry.internal:5000/search/context1-agent:0.1.0",
        f"registry.internal:5000/search/context1-serve@{digest}",
    }
