"""Writes the lock files from what is installed (`make lock`).

requirements.lock holds what the package needs to run, requirements-dev.lock adds what tests and checks need.
Each image's lock holds what its requirements.in needs; those of eval and train only what the locks below them
lack, as their packages are installed beside those. Installed packages that nothing needs are left out.
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
IMAGES = ("agent", "base", "eval", "train")
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
    write(ROOT / "requirements.lock", runtime)
    write(ROOT / "requirements-dev.lock", less(both, runtime), "-r requirements.lock\n")

    agent, base, model, training = (closure(wanted(name), NOT_IN_IMAGES) for name in IMAGES)
    write(lock_of("agent"), agent)
    write(lock_of("base"), base)
    write(lock_of("eval", "-cpu"), less(model, base))
    write(lock_of("eval", "-gpu"), less(model, base) | cuda())
    write(lock_of("train"), less(training, base | model))

    installed = {canonicalize_name(dist.name) for dist in distributions()}
    if left := sorted(installed - both.keys() - agent.keys() - NOT_OURS):
        print(f"left out, as nothing needs them: {', '.join(left)}")


def wanted(image: str, suffix: str = "") -> list[str]:
    """The lines of an image's requirements.in."""
    lines = (ROOT / "images" / image / f"requirements{suffix}.in").read_text().splitlines()
    return [line for line in lines if not line.startswith("#")]


def cuda() -> dict[str, str]:
    """What torch's CUDA build needs beyond the CPU's, in the versions that the serving image has."""
    names = set(wanted("eval", "-gpu"))
    lines = lock_of("serve", "-gpu").read_text().splitlines()
    found = {name: line for line in lines if (name := line.partition("==")[0]) in names}
    if missing := sorted(names - found.keys()):
        sys.exit(f"{lock_of('serve', '-gpu')} lacks {', '.join(missing)}, which images/eval asks for")
    return found


def lock_of(image: str, suffix: str = "") -> Path:
    return ROOT / "images" / image / f"requirements{suffix}.lock"


def less(found: dict[str, str], there: dict[str, str]) -> dict[str, str]:
    """The packages that are not there yet."""
    return {name: line for name, line in found.items() if name not in there}


def write(path: Path, found: dict[str, str], first: str = "") -> None:
    lines = "".join(f"{found[name]}\n" for name in sorted(found))
    path.write_text(HEADER.format(*sys.version_info[:2]) + first + lines)
    print(f"{path.relative_to(ROOT)}: {len(found)} packages")


if __name__ == "__main__":
    main()
