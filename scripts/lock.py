"""Writes the lock files from what is installed (`make lock`).

requirements.lock holds what the package needs to run, requirements-dev.lock adds what its tests and checks
need, images/agent/requirements.lock what serving needs. Installed packages that none needs are left out.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Set
from importlib.metadata import PackageNotFoundError, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
HEADER = "# Made by `make lock`; Python {}.{}. Do not edit by hand.\n"
NOT_OURS = {"context1", "pip", "setuptools", "wheel"}
NOT_IN_IMAGES = {"sentence-transformers"}
"""The MiniLM package asks for it, and torch with it; only the package's files are read, by ONNX Runtime."""


def closure(requirements: list[str], without: Set[str] = frozenset()) -> dict[str, str]:
    """Name -> version of all installed packages that the requirements lead to, not by way of `without`."""
    found: dict[str, str] = {}
    waiting = [Requirement(line) for line in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        if requirement.name in without:
            continue
        extras = sorted(requirement.extras) or [""]
        for extra in extras:
            if (requirement.name, extra) in seen:
                continue
            seen.add((requirement.name, extra))
            try:
                dist = distribution(requirement.name)
            except PackageNotFoundError:
                sys.exit(
                    f"{requirement} is required but not installed; install it, then run `make lock` again"
                )
            # A local version such as 2.13.0+cpu exists on no index but the one it came from.
            found[canonicalize_name(dist.name)] = f"{dist.name}=={dist.version.partition('+')[0]}"
            for line in dist.requires or []:
                child = Requirement(line)
                if child.marker is None or child.marker.evaluate({"extra": extra}):
                    waiting.append(child)
    return found


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    runtime = closure(project["dependencies"])
    both = closure(project["dependencies"] + project["optional-dependencies"]["dev"])
    agent = ROOT / "images" / "agent"
    wanted = (agent / "requirements.in").read_text().splitlines()
    image = closure([line for line in wanted if not line.startswith("#")], NOT_IN_IMAGES)
    header = HEADER.format(*sys.version_info[:2])
    write = "\n".join
    (ROOT / "requirements.lock").write_text(header + write(runtime[name] for name in sorted(runtime)) + "\n")
    added = write(both[name] for name in sorted(both.keys() - runtime.keys()))
    (ROOT / "requirements-dev.lock").write_text(f"{header}-r requirements.lock\n{added}\n")
    (agent / "requirements.lock").write_text(header + write(image[name] for name in sorted(image)) + "\n")
    print(f"{len(runtime)} packages to run, {len(both) - len(runtime)} more for tests and checks")
    print(f"{len(image)} in the agent image")
    installed = {canonicalize_name(dist.name) for dist in distributions()}
    if left := sorted(installed - both.keys() - image.keys() - NOT_OURS):
        print(f"left out, as nothing needs them: {', '.join(left)}")


if __name__ == "__main__":
    main()
