"""Lists what the built images hold, Python and Debian packages, as CycloneDX JSON (`make sbom`).

The image's own Python and dpkg are asked, in a container without a network.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL
from packaging.utils import canonicalize_name

from images import DOCKER, IMAGES, ROOT, refuse_missing, tag_of

ASK = """
import json, platform, subprocess
from importlib.metadata import distributions
python = [(found.name, found.version, found.metadata["License-Expression"]) for found in distributions()]
query = ["dpkg-query", "--show", "--showformat=${Package} ${Version} ${Architecture}\\n"]
lines = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()
release = platform.freedesktop_os_release()["VERSION_CODENAME"]
print(json.dumps({"python": python, "debian": [line.split() for line in lines], "release": release}))
"""
"""What the image's Python is told to print."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("images", nargs="+", choices=IMAGES)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "sbom", help="default: %(default)s")
    parsed = parser.parse_args()
    refuse_missing(parsed.images)
    parsed.folder.mkdir(parents=True, exist_ok=True)
    for image in parsed.images:
        listing = ask(tag_of(image))
        path = parsed.folder / f"{IMAGES[image][0]}.cdx.json"
        path.write_text(sbom(tag_of(image), listing) + "\n")
        print(f"{path}: {len(listing['python'])} Python and {len(listing['debian'])} Debian packages")


def ask(tag: str) -> dict[str, Any]:
    """`python`: name, version, licence if named; `debian`: name, version, architecture; `release`: a word."""
    command = [DOCKER, "run", "--rm", "--network=none", "--entrypoint=python3", tag, "-c", ASK]
    answer: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return answer


def sbom(tag: str, listing: dict[str, Any]) -> str:
    """CycloneDX 1.6 of what `ask` found."""
    name, _, version = tag.partition(":")
    bom = Bom(components=[*python(listing), *debian(listing)])
    image = bom.metadata.component = Component(name=name, version=version, type=ComponentType.CONTAINER)
    bom.register_dependency(image, bom.components)
    return JsonV1Dot6(bom).output_as_string(indent=2)


def python(listing: dict[str, Any]) -> Iterator[Component]:
    for name, version, license in listing["python"]:
        purl = PackageURL("pypi", None, canonicalize_name(name), version)
        licenses = [LicenseFactory().make_from_string(license)] if license else []
        yield Component(name=name, version=version, purl=purl, bom_ref=str(purl), licenses=licenses)


def debian(listing: dict[str, Any]) -> Iterator[Component]:
    for name, version, architecture in listing["debian"]:
        where = {"arch": architecture, "distro": listing["release"]}
        purl = PackageURL("deb", "debian", name, version, where)
        yield Component(name=name, version=version, purl=purl, bom_ref=str(purl))


if __name__ == "__main__":
    main()
