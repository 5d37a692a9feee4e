"""Writes JSON schemas of the Trainer's resources, a file a release, from its models at PyPI (Apache-2.0).

`python scripts/trainer_schemas.py`. Pods in them are left open: tests check those against Kubernetes' own.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "unit" / "cluster" / "schemas"
PACKAGE = "kubeflow-trainer-api"
RELEASES = {"2.0": "2.0.0", "2.1": "2.1.0", "2.2": "2.2.1", "2.3": "2.3.0"}
KINDS = ["TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"]
OPEN = {
    "IoK8sApimachineryPkgUtilIntstrIntOrString": {"type": ["integer", "string"]},
    "IoK8sApimachineryPkgApiResourceQuantity": {"type": ["integer", "string"]},
    "IoK8sApiCoreV1PodTemplateSpec": {"type": "object"},
    "IoK8sApimachineryPkgApisMetaV1ObjectMeta": {"type": "object"},
}
"""Definitions that are replaced."""
UNUSED = ("Patch", "Override", "Initializer")
"""Ends of names of definitions that are left open: neither the launcher nor the chart sets them."""
DUMP = """
import json, sys
import kubeflow_trainer_api.models as models
kinds = {kind: getattr(models, f"TrainerV1alpha1{kind}") for kind in sys.argv[1:]}
print(json.dumps({kind: model.model_json_schema() for kind, model in kinds.items()}))
"""


def schemas(wheel: Path) -> dict[str, Any]:
    """By kind: what the models of a package say, where unknown fields are errors."""
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder)
        command = [sys.executable, "-c", DUMP, *KINDS]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=True, text=True)
    return {kind: closed(schema) for kind, schema in json.loads(done.stdout).items()}


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with only the definitions that it needs, without its prose."""
    given = schema.pop("$defs") | OPEN
    given |= {name: {"type": "object"} for name in given if name.endswith(UNUSED)}
    needed: dict[str, Any] = {}

    def walk(node: Any) -> Any:
        if isinstance(node, list):
            return [walk(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "anyOf" in node:  # with null, for a field that may be left out
            (node,) = [one for one in node["anyOf"] if one != {"type": "null"}]
        kept = {key: value for key, value in node.items() if key not in ("title", "description", "default")}
        if properties := kept.pop("properties", None):
            kept["properties"] = {name: walk(one) for name, one in properties.items()}
            kept["additionalProperties"] = False
        for key in kept.keys() - {"properties", "required", "enum"}:
            kept[key] = walk(kept[key])
        name = kept.get("$ref", "").rpartition("/")[2]
        if name and name not in needed:
            needed[name] = {}  # a type may refer to itself
            needed[name] = walk(given[name])
        return kept

    return walk(schema) | {"$defs": needed}


def main() -> None:
    """Replaces the files in `FOLDER`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for release, version in RELEASES.items():
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", scratch]
            subprocess.run([*pip, f"{PACKAGE}=={version}"], check=True)
            (wheel,) = Path(scratch).glob(f"*-{version}-*.whl")
            source = f"PyPI {PACKAGE} {version}, Apache-2.0, by scripts/trainer_schemas.py"
            text = json.dumps({"$comment": source, **schemas(wheel)}, separators=(",", ":"), sort_keys=True)
            (FOLDER / f"{release}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
