"""Pushes the built images to a registry and writes down what it answers to (`make images-push REGISTRY=`).

images.lock names every image by its digest, and holds what this push brought, no older digest beside it.
Nothing is pushed unless all are built, and nothing is written unless all are pushed.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from images import DOCKER, IMAGES, ROOT, refuse_missing, tag_of

REGISTRY = re.compile(r"[a-z0-9][a-z0-9.-]*(:\d+)?(/[a-z0-9._-]+)*")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("images", nargs="+", choices=IMAGES)
    parser.add_argument("--registry", required=True, help="comes before the names: registry.example.com/ai")
    parser.add_argument("--lock", type=Path, default=ROOT / "images.lock", help="default: %(default)s")
    parsed = parser.parse_args()
    if not REGISTRY.fullmatch(parsed.registry):
        sys.exit(f"REGISTRY={parsed.registry!r} is no registry; name one as registry.example.com/ai")

    refuse_missing(parsed.images)
    images = {IMAGES[image][0]: push(image, parsed.registry) for image in parsed.images}
    half = parsed.lock.with_name(f".{parsed.lock.name}.partial")  # half a file is never taken for whole
    half.write_text(json.dumps({"images": images}, indent=2, sort_keys=True) + "\n")
    half.replace(parsed.lock)
    print(f"{parsed.lock}: {len(images)} images")


def push(image: str, registry: str) -> str:
    """Its name with the digest that the registry gave it."""
    name = f"{registry}/{tag_of(image)}"
    subprocess.run([DOCKER, "tag", tag_of(image), name], check=True)
    done = subprocess.run([DOCKER, "push", name], stdout=subprocess.PIPE, text=True, check=False)
    digest = re.search(r"digest: (sha256:[0-9a-f]{64})", done.stdout)
    if done.returncode != 0 or not digest:
        sys.exit(f"{name} was not pushed, and no lock is written; is `{DOCKER} login` needed?\n{done.stdout}")
    print(f"{name}@{digest[1]}", flush=True)
    return f"{registry}/{IMAGES[image][0]}@{digest[1]}"


if __name__ == "__main__":
    main()
