"""Bad input to each subcommand: a message that names file and line, status 2, and no half-written output."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from context1 import cli
from context1.commands.stages import index, ingest
from context1.errors import WorkerFailed
from context1.schema import Chunk, Fact, Quote, Task
from context1.settings import Settings
from context1.stage import run_stage

DOCUMENTS = [
    {
        "title": "Annual report",
        "text": "Harwick Mills spun cotton in 1931. It was sold to Tessaly Brothers.",
    },
    {
        "title": "Ledger",
        "text": "Tessaly Brothers paid 41,200 crowns. The ledger lists nine looms.",
    },
    {"title": "Letter", "text": "The nine looms went to Corvan by barge in the spring of 1932."},
]


@pytest.fixture
def context1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    """Runs the command line in this process, in an empty folder; returns (status, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["context1", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        assert isinstance(left.value.code, int)
        return left.value.code, capsys.readouterr().err

    return run


def write_corpus(folder: Path, documents: list[dict[str, str]], tail: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents) + tail)
    return folder


def stage(folder: Path, **files: str) -> Path:
    """A finished stage that holds these files, `name__ext` for `name.ext`."""

    def body(partial: Path) -> dict[str, Any]:
        for name, text in files.items():
            (partial / name.replace("__", ".").replace("_", "-")).write_text(text)
        return {}

    class Nothing(BaseModel):
        pass

    run_stage(folder.name, Nothing(), {}, folder, body)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with documents and an index over them."""
    root = tmp_path_factory.mktemp("made")
    settings = Settings.load("smoke")
    ingest(settings, str(write_corpus(root / "corpus", DOCUMENTS)), root / "run" / "ingest")
    index(settings, root / "run" / "ingest", root / "run" / "index")
    return root / "run"


def a_task() -> dict[str, Any]:
    quote = Quote(text="1931", start=27, end=31)
    fact = Fact(chunk_ids=["ba48du"], quote=quote, clue_quote=quote, contains_truth=True)
    task = Task(
        id="t1",
        domain="web",
        split="test",
        hops=1,
        clues=["c"],
        question="q",
        truth="1931",
        truth_type="date",
        facts=[fact],
    )
    return task.model_dump()


def nothing_made(root: Path, *stages: str) -> bool:
    """No stage's folder is there, finished or half."""
    return not any(
        (root / f"{name}{end}" / "manifest.json").exists() for name in stages for end in ("", ".partial")
    )


def test_data_from_a_missing_folder(context1: Any, tmp_path: Path) -> None:
    status, said = context1("data", "-p", "smoke", "--root", "run", "--corpus", "nowhere")
    assert status == 2 and "nowhere" in said and "no such" in said
    assert not (tmp_path / "run" / "ingest").exists()


def test_data_from_an_empty_folder(context1: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    status, said = context1("data", "-p", "smoke", "--root", "run", "--corpus", "empty")
    assert status == 2 and "empty" in said and "no readable document" in said
    assert nothing_made(tmp_path / "run", "ingest", "index", "generate")


def test_data_with_a_broken_line(context1: Any, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", DOCUMENTS[:2], '{"title": "x", "text": \n')
    status, said = context1("data", "-p", "smoke", "--root", "run", "--corpus", "corpus")
    assert status == 2 and "docs.jsonl:3" in said
    assert nothing_made(tmp_path / "run", "ingest", "index", "generate")


def test_data_from_one_document_has_no_task(context1: Any, tmp_path: Path) -> None:
    write_corpus(tmp_path / "corpus", DOCUMENTS[:1])
    status, said = context1("data", "-p", "smoke", "--root", "run", "--corpus", "corpus")
    assert status == 2 and "no task" in said
    assert nothing_made(tmp_path / "run", "generate")


def test_index_without_documents(context1: Any, tmp_path: Path) -> None:
    status, said = context1("index", "build", "-p", "smoke", "--root", "run")
    assert status == 2 and "run/ingest" in said and "context1 data" in said
    assert nothing_made(tmp_path / "run", "index")


def test_index_with_a_broken_line_and_an_unknown_field(context1: Any, tmp_path: Path) -> None:
    good = Chunk(id="ba48du", doc_id="d", position=0, title="t", text="x", domain="web").model_dump()
    for name, line, told in (
        ("broken", "{", "JSON"),
        ("unknown", json.dumps(good | {"colour": 1}), "colour"),
    ):

        def body(partial: Path, line: str = line) -> dict[str, Any]:
            with gzip.open(partial / "chunks.jsonl.gz", "wt") as file:
                file.write(json.dumps(good) + "\n" + line + "\n")
            return {}

        run_stage("ingest", Quote(text="", start=0, end=0), {}, tmp_path / name, body)
        status, said = context1("index", "build", "-p", "smoke", "--root", "run", "--documents", name)
        assert status == 2 and "chunks.jsonl.gz:2" in said and told in said
        assert nothing_made(tmp_path / "run", "index")


def test_index_of_altered_chunks(context1: Any, tmp_path: Path, made: Path) -> None:
    shutil.copytree(made / "ingest", tmp_path / "ingest")
    (tmp_path / "ingest" / "chunks.jsonl.gz").write_bytes(b"other")
    status, said = context1("index", "build", "-p", "smoke", "--root", "run", "--documents", "ingest")
    assert status == 2 and "chunks.jsonl.gz" in said and "manifest.json" in said


@pytest.mark.parametrize(
    ("command", "first"), [("sft", "run/index"), ("rl", "run/index"), ("eval", "run/index")]
)
def test_training_and_evaluation_without_inputs(
    context1: Any, tmp_path: Path, command: str, first: str
) -> None:
    status, said = context1(command, "-p", "smoke", "--root", "run")
    assert status == 2 and first in said and "context1 data" in said
    assert not (tmp_path / "run").exists()


def test_rl_without_a_taught_model(context1: Any, tmp_path: Path, made: Path) -> None:
    shutil.copytree(made, tmp_path / "run")
    stage(tmp_path / "run" / "generate", tasks_train__jsonl="")
    status, said = context1("rl", "-p", "smoke", "--root", "run")
    assert status == 2 and "run/sft" in said and "context1 sft" in said


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("", "no task"),
        ('{"id": \n', "tasks-test.jsonl:1"),
        (f"{json.dumps(a_task())}\n{json.dumps(a_task() | {'colour': 1})}\n", "test.jsonl:2: field `colour`"),
        (json.dumps(a_task() | {"hops": "many"}) + "\n", "tasks-test.jsonl:1: field `hops`"),
    ],
)
def test_eval_of_bad_tasks(context1: Any, tmp_path: Path, made: Path, lines: str, told: str) -> None:
    shutil.copytree(made, tmp_path / "run")
    stage(tmp_path / "run" / "generate", tasks_test__jsonl=lines)
    for name in ("sft", "rl"):
        stage(tmp_path / "run" / name)
    status, said = context1("eval", "-p", "smoke", "--root", "run")
    assert status == 2 and told in said
    assert nothing_made(tmp_path / "run", "evaluate", "report")


def test_eval_of_a_model_without_a_name(context1: Any) -> None:
    status, said = context1("eval", "-p", "smoke", "--root", "run", "--model", "runs/x")
    assert status == 2 and "NAME=FOLDER" in said


def test_search_without_index_model_or_question(context1: Any, made: Path) -> None:
    assert context1("search", "who?", "-p", "smoke", "--root", "run")[0] == 2
    status, said = context1(
        "search", "who?", "-p", "smoke", "--index", str(made / "index"), "--model", "nowhere"
    )
    assert status == 2 and "nowhere" in said
    status, said = context1("search", " ", "-p", "smoke")
    assert status == 2 and "QUESTION" in said


@pytest.mark.parametrize("command", ["demo", "data", "index build", "sft", "rl", "eval", "search who"])
def test_bad_settings(context1: Any, tmp_path: Path, command: str) -> None:
    (tmp_path / "mine.yaml").write_text("rl:\n  steps: 3\n  stepz: 4\n")
    status, said = context1(*command.split(), "-p", "smoke", "--config", "mine.yaml")
    assert status == 2 and "mine.yaml:3" in said and "rl.stepz" in said
    status, said = context1(*command.split(), "-p", "smoke", "--set", "rl.steps=many")
    assert status == 2 and "rl.steps" in said
    status, said = context1(*command.split(), "-p", "smoke", "--config", "none.yaml")
    assert status == 2 and "none.yaml" in said
    status, said = context1(*command.split(), "-p", "nonesuch")
    assert status == 2 and "nonesuch" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.yaml"]


def test_demo_on_a_missing_folder(context1: Any, tmp_path: Path) -> None:
    status, said = context1("demo", "-p", "smoke", "--corpus", "nowhere")
    assert status == 2 and "nowhere" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["demo", "data"])
def test_dry_run_changes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["context1", command, "-p", "smoke", "--dry-run"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0
    assert not list(tmp_path.iterdir())


def test_a_dead_process_is_told_without_a_traceback(context1: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise WorkerFailed("rank 1 of 2 was killed by SIGKILL")

    monkeypatch.setattr(cli, "app", fail)
    status, said = context1("rl")
    assert status == 1
    assert said == "error: rank 1 of 2 was killed by SIGKILL\nthe same command continues where it stopped\n"
