"""Writes the JSON schemas of foreign resources that the chart's tests check against, from npm packages.

The packages of @kubernetes-models (MIT) hold TypeScript interfaces that are generated from the projects' own
API types (Apache-2.0). Run again after a change of `KINDS`: `python scripts/crd_schemas.py`; needs npm.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "unit" / "chart" / "crds"

KINDS = {
    "external-secrets@2.0.0": ["external-secrets.io/v1/ExternalSecret"],
    "gateway-api@2.0.0": ["gateway.networking.k8s.io/v1/HTTPRoute"],
    "keda@2.0.0": ["keda.sh/v1alpha1/ScaledObject"],
    "prometheus-operator@6.0.0": [
        "monitoring.coreos.com/v1/PrometheusRule",
        "monitoring.coreos.com/v1/ServiceMonitor",
    ],
}
"""Kinds to write, by package."""

PLAIN = {"string": "string", "number": "number", "boolean": "boolean"}
MEMBER = re.compile(
    r'^ {4}"(?P<name>[^"]+)"(?P<optional>\??): (?P<type>(?:[^{};]|\{[^{}]*\})+);$', re.MULTILINE
)
INTERFACE = re.compile(
    r"^export interface \w+(?: extends (?P<parents>[^{]+))? \{\n(?P<body>.*?)^\}", re.DOTALL | re.MULTILINE
)
ALIAS = re.compile(r"^export type I\w+ = (?P<type>.+?);$", re.DOTALL | re.MULTILINE)
IMPORT = re.compile(r'^import \{ (?P<name>\w+) \} from "(?P<path>\.{1,2}/[^"]+)\.js";$', re.MULTILINE)
COMMENT = re.compile(r"/\*\*.*?\*/\s*", re.DOTALL)


class Reader:
    """Collects the definitions that a kind refers to; types of Kubernetes itself are left open."""

    def __init__(self) -> None:
        self.definitions: dict[str, Any] = {}

    def read(self, path: Path) -> dict[str, Any]:
        """The schema in a `.d.ts` file."""
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        imports = {found["name"]: path.parent / f"{found['path']}.d.ts" for found in IMPORT.finditer(text)}
        interface = INTERFACE.search(text)
        if interface is None:
            alias = ALIAS.search(text)
            return self._schema(alias["type"], imports) if alias else {}
        members = list(MEMBER.finditer(interface["body"]))
        properties = {one["name"]: self._schema(one["type"], imports) for one in members}
        required = [one["name"] for one in members if not one["optional"]]
        for parent in re.findall(r"\w+", interface["parents"] or ""):
            if parent in imports:
                inherited = self.read(imports[parent])
                properties |= inherited.get("properties", {})
                required += inherited.get("required", [])
        schema = {"type": "object", "additionalProperties": False, "properties": properties}
        return schema | ({"required": sorted(required)} if required else {})

    def _schema(self, written: str, imports: dict[str, Path]) -> dict[str, Any]:
        written = written.strip()
        if written in PLAIN:
            return {"type": PLAIN[written]}
        if array := re.fullmatch(r"Array<(.+)>", written, re.DOTALL):
            return {"type": "array", "items": self._schema(array[1], imports)}
        if mapping := re.fullmatch(r"\{\s*\[key: string\]: (.+);\s*\}", written, re.DOTALL):
            return {"type": "object", "additionalProperties": self._schema(mapping[1], imports)}
        if re.fullmatch(r'"[^"]*"( \| "[^"]*")*', written):
            return {"enum": re.findall(r'"([^"]*)"', written)}
        if written in imports:
            if written not in self.definitions:
                self.definitions[written] = {}  # a type may refer to itself
                self.definitions[written] = self.read(imports[written])
            return {"$ref": f"#/$defs/{written}"}
        return {}


def write(package: str, kinds: list[str], scratch: Path) -> None:
    """Downloads a package and writes the schema of each kind."""
    pack = ["npm", "pack", f"@kubernetes-models/{package}", "--silent", "--pack-destination", str(scratch)]
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
    (archive,) = scratch.glob(f"*{package.replace('@', '-')}.tgz")
    with tarfile.open(archive) as packed:
        packed.extractall(scratch / package, filter="data")
    for kind in kinds:
        reader = Reader()
        schema = reader.read(scratch / package / "package" / f"{kind}.d.ts")
        schema["required"] = sorted({*schema.get("required", []), "metadata", "spec"})
        source = f"npm @kubernetes-models/{package}, MIT, by scripts/crd_schemas.py"
        document = {"$comment": source, **schema, "$defs": dict(sorted(reader.definitions.items()))}
        (FOLDER / f"{Path(kind).name}.json").write_text(
            json.dumps(document, indent=1) + "\n", encoding="utf-8"
        )


def main() -> None:
    """Replaces the files in `FOLDER`."""
    if shutil.which("npm") is None:
        sys.exit("npm is not installed, and the schemas are made from its packages")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for package, kinds in KINDS.items():
            write(package, kinds, Path(scratch))


if __name__ == "__main__":
    main()
