"""`context1 trainjob`: the TrainJobs of training stages, on a cluster."""

from __future__ import annotations

from typing import Annotated

import typer
import yaml

from context1.commands.flat import flat
from context1.commands.options import SettingsOptions
from context1.errors import InputError

app = typer.Typer(
    no_args_is_help=True,
    help="Training on a cluster: what is rendered, what is there, and its end.\n\n"
    "`context1 sft` and `context1 rl` train as a Kubeflow TrainJob with `--set cluster.launcher=trainjob` "
    "and a `storage.uri`. They follow it to its end and clean up; the same command, given again, goes on "
    "where a killed one stopped. These commands are for looking before, and for what was left behind.",
)

Run = Annotated[str, typer.Option("--run", help="Only those of this run.")]
Abandoned = Annotated[bool, typer.Option("--abandoned", help="Only those that no launcher follows any more.")]
Stage = Annotated[str, typer.Argument(help="`sft` or `rl`.")]


def render(stage: Stage = "sft", *, options: SettingsOptions) -> None:
    """Prints the TrainJob of a stage as YAML, and changes nothing; its name is an example.

    Examples:

      context1 trainjob render rl --profile cluster --set storage.uri=s3://bucket/runs
    """
    from context1.cluster.names import job_name
    from context1.cluster.trainjob import render as trainjob

    settings = options.load()
    run = settings.cluster.run or "example"
    name = job_name(run, stage, "")
    body = trainjob(name, stage, run, settings.train.procs, settings.cluster, settings.storage)
    print(yaml.safe_dump(body, sort_keys=False), end="")


def listed(run: Run = "", *, options: SettingsOptions) -> None:
    """Lists the TrainJobs of training stages: name, stage, run, state, and whether a launcher follows it.

    Examples:

      context1 trainjob list --set cluster.namespace=team
    """
    from context1.cluster.api import Api
    from context1.cluster.launcher import jobs
    from context1.cluster.names import RUN, STAGE

    for job, followed in jobs(Api(options.load().cluster), run):
        labels, status = job["metadata"]["labels"], job.get("status", {}).get("conditions", [])
        state = next((one["type"] for one in reversed(status) if one["status"] == "True"), "Running")
        print(
            job["metadata"]["name"],
            labels[STAGE],
            labels[RUN],
            state,
            "followed" if followed else "abandoned",
        )


def cancel(run: Run = "", abandoned: Abandoned = False, *, options: SettingsOptions) -> None:
    """Ends TrainJobs by label: those of a run, or those whose launcher is gone. Their checkpoints stay.

    Examples:

      context1 trainjob cancel --run nightly

      context1 trainjob cancel --abandoned
    """
    from context1.cluster.api import Api
    from context1.cluster.launcher import Launcher, jobs

    if not run and not abandoned:
        raise InputError("context1 trainjob cancel: say which, by --run or --abandoned")
    settings = options.load().cluster
    api = Api(settings)
    for job, followed in jobs(api, run):
        if not (abandoned and followed):
            Launcher(api, settings, job["metadata"]["name"]).remove()
            print(f"{job['metadata']['name']} is ended")


app.command("render")(flat(render))
app.command("list")(flat(listed))
app.command("cancel")(flat(cancel))
