"""Runs on a KFP server: the requests that go out, and what its refusals are told as."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from fake_kfp import EXPERIMENT, RUN, TOKEN, FakeKfp, serving
from typer.testing import CliRunner

from context1.cli import app
from context1.cluster import runs
from context1.cluster.kfp_api import connect
from context1.cluster.lock import read_lock
from context1.errors import InputError
from context1.settings import Settings

DIGEST = "sha256:" + "ab" * 32
IMAGES = {
    name: f"registry.example.com/{name}@{DIGEST}"
    for name in ("context1-base", "context1-train", "context1-eval")
}


@pytest.fixture
def kfp(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKfp]:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "KF_PIPELINES_SA_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CONTEXT1_PIPELINE__TOKEN", TOKEN)
    with serving(FakeKfp()) as fake:
        yield fake


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    path = tmp_path / "images.lock"
    path.write_text(json.dumps({"images": IMAGES}))
    return path


def context1(*arguments: str) -> Any:
    """The command line's output; raises what it raises."""
    done = CliRunner().invoke(app, ["pipelines", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def settings(kfp: FakeKfp, **more: Any) -> Any:
    given = {f"pipeline.{key}": value for key, value in {"host": kfp.url, **more}.items()}
    return Settings.load(overrides=given).pipeline


def test_a_run_is_asked_for(kfp: FakeKfp, lock: Path, tmp_path: Path) -> None:
    values = tmp_path / "cluster.yaml"
    values.write_text(
        "pipeline:\n  claim: shared\n  secrets: {s3-keys: {access: AWS_ACCESS_KEY_ID}}\n"
        "  train: {accelerators: 8, node_selector: {gpu: b200}}\n  mlflow_experiment: team\n"
        "  artifacts: s3://bucket/kfp\nrl:\n  steps: 3\nopensearch:\n  password: canary-secret-1\n"
    )
    done = context1(
        "submit", "end_to_end", "--host", kfp.url, "-n", "team-a", "--values", str(values),
        "--images", str(lock), "--name", "one", "-P", "root=/mnt/context1/one",
    )  # fmt: skip
    assert done.stdout.splitlines()[0] == RUN
    looked = kfp.of("GET", "/apis/v2beta1/experiments")
    assert looked.query["namespace"] == ["team-a"]
    assert json.loads(looked.query["filter"][0])["predicates"][0]["stringValue"] == "context1"
    assert kfp.of("POST", "/apis/v2beta1/experiments").body == {
        "display_name": "context1",
        "namespace": "team-a",
    }
    sent = kfp.of("POST", "/apis/v2beta1/runs")
    assert sent.headers["authorization"] == f"Bearer {TOKEN}"
    body = sent.body
    assert body["display_name"] == "one" and body["experiment_id"] == EXPERIMENT
    assert body["plugins_input"] == {"mlflow": {"experiment_name": "team"}}
    assert body["runtime_config"]["pipeline_root"] == "s3://bucket/kfp"
    parameters = body["runtime_config"]["parameters"]
    assert parameters["overrides"] == {"rl.steps": 3} and parameters["profile"] == "cluster"
    assert parameters["root"] == "/mnt/context1/one"
    executors = body["pipeline_spec"]["pipeline_spec"]["deploymentSpec"]["executors"]
    assert {one["container"]["image"] for one in executors.values()} == set(IMAGES.values())
    resources = executors["exec-rl"]["container"]["resources"]
    assert (
        resources["accelerator"]["resourceType"] == "nvidia.com/gpu"
        and resources["accelerator"]["count"] == "8"
    )
    platform = body["pipeline_spec"]["platform_spec"]["platforms"]["kubernetes"]["deploymentSpec"][
        "executors"
    ]
    assert platform["exec-rl"]["nodeSelector"] == {"labels": {"gpu": "b200"}}
    assert platform["exec-rl"]["secretAsEnv"][0]["secretName"] == "s3-keys"
    text = json.dumps(body)
    assert "canary" not in text and TOKEN not in text


def test_an_experiment_that_is_there_is_used(kfp: FakeKfp, lock: Path) -> None:
    kfp.experiments = [{"experiment_id": "there", "display_name": "mine"}]
    context1("submit", "data", "--host", kfp.url, "--images", str(lock), "-s", "pipeline.experiment=mine")
    assert kfp.of("POST", "/apis/v2beta1/runs").body["experiment_id"] == "there"
    assert "plugins_input" not in kfp.of("POST", "/apis/v2beta1/runs").body


def test_a_dry_run_asks_nobody(kfp: FakeKfp, lock: Path) -> None:
    done = context1(
        "submit", "data", "--host", kfp.url, "--images", str(lock), "--dry-run", "-s", "rl.steps=7"
    )
    assert not kfp.asked
    assert DIGEST in done.stdout and "rl.steps" in done.stdout and TOKEN not in done.output


def test_the_pods_own_token_and_cookies(
    kfp: FakeKfp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CONTEXT1_PIPELINE__TOKEN")
    with pytest.raises(InputError, match="does not know who asks"):
        runs.find(connect(settings(kfp)), RUN)
    assert runs.find(connect(settings(kfp, cookies="session=1")), RUN).run_id == RUN
    assert kfp.asked[-1].headers["cookie"] == "session=1"
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    monkeypatch.setenv("KF_PIPELINES_SA_TOKEN_PATH", str(tmp_path / "token"))
    assert runs.find(connect(settings(kfp)), RUN).run_id == RUN


@pytest.mark.parametrize("reference", ["context1-base:0.1.0", "r.example.com/a:latest", "a@sha256:12", ""])
def test_a_bare_tag_is_refused(tmp_path: Path, reference: str) -> None:
    path = tmp_path / "images.lock"
    path.write_text(json.dumps({"images": {"context1-base": reference}}))
    with pytest.raises(InputError, match="not a digest"):
        read_lock(path)


def test_what_is_missing_is_named(kfp: FakeKfp, lock: Path, tmp_path: Path) -> None:
    partly = tmp_path / "part.lock"
    partly.write_text(json.dumps({"images": {"context1-base": IMAGES["context1-base"]}}))
    base = ("--host", kfp.url, "--images", str(lock))
    for arguments, told in {
        ("submit", "export", *base): "no such pipeline; there are data, train, evaluate, end_to_end",
        ("submit", "train", *base): "--param index=",
        ("submit", "data", *base, "-P", "corpsu=/x"): "corpsu: no such parameter",
        ("submit", "data", "--images", str(lock)): "--host",
        ("submit", "data", "--host", kfp.url, "--images", str(tmp_path / "none")): "make images-push",
        ("submit", "train", "--host", kfp.url, "--images", str(partly), "-P", "root=/r"): "context1-train",
        ("submit", "data", *base, "-s", "pipeline.ca_file=/none"): "pipeline.ca_file /none",
    }.items():
        with pytest.raises(InputError, match=told):
            context1(*arguments)
    assert not [one for one in kfp.asked if one.method == "POST"]


def test_refusals_name_cause_and_mend(kfp: FakeKfp) -> None:
    client = connect(settings(kfp))
    with pytest.raises(InputError, match=r"run other: .* does not have it \(not found"):
        runs.find(client, "other")
    with pytest.raises(InputError, match="run other"):
        runs.cancel(client, "other")
    kfp.forbidden = True
    with pytest.raises(InputError, match=r"not authorized.*--namespace"):
        runs.find(client, RUN)
    kfp.login_page = True
    with pytest.raises(InputError, match="a login stands before it"):
        runs.find(client, RUN)
    with pytest.raises(InputError, match=r"no answer.*is it the address"):
        runs.find(connect(settings(kfp, host="http://127.0.0.1:9")), RUN)


def test_logs_of_steps_in_order(kfp: FakeKfp) -> None:
    done = context1("logs", RUN, "--host", kfp.url)
    assert done.stdout.splitlines() == [
        "=== ingest (SUCCEEDED) run-x-ingest-impl-1", '{"log of": "run-x-ingest-impl-1"}',
        "=== index (FAILED) run-x-index-impl-2", '{"log of": "run-x-index-impl-2"}',
    ]  # fmt: skip
    kfp.old_logs = True
    assert len(context1("logs", RUN, "--host", kfp.url, "--step", "index").stdout.splitlines()) == 2
    with pytest.raises(InputError, match="no step `rl`; steps: ingest, index"):
        context1("logs", RUN, "--host", kfp.url, "--step", "rl")


def test_a_run_is_cancelled(kfp: FakeKfp) -> None:
    assert "would be ended" in context1("cancel", RUN, "--host", kfp.url, "--dry-run").stdout
    assert kfp.terminated == []
    assert "is ending" in context1("cancel", RUN, "--host", kfp.url).stdout
    assert kfp.terminated == [RUN]


def test_the_certificate_is_checked(kfp: FakeKfp, tmp_path: Path) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serving(FakeKfp(), context) as secure:
        with pytest.raises(InputError, match="certificate"):
            runs.find(connect(settings(secure)), RUN)
        trusting = connect(settings(secure, ca_file=str(tmp_path / "ca.pem")))
        assert runs.find(trusting, RUN).run_id == RUN
