"""`context1 search`: one search with a trained model, shown as it happens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from context1.commands.options import Root, SettingsOptions, run_root
from context1.errors import InputError
from context1.settings import Settings

Question = Annotated[str, typer.Argument(help="What to find documents for.", show_default=False)]
Model = Annotated[
    Path | None,
    typer.Option("--model", "-m", help="Folder of a trained model; default: ROOT/rl, else ROOT/sft."),
]
Index = Annotated[
    Path | None,
    typer.Option("--index", "-i", help="Folder of an index; default: ROOT/index, else OpenSearch's alias."),
]
Temperature = Annotated[
    float, typer.Option("--temperature", "-t", min=0.0, help="0 always takes the likeliest token.")
]
Seed = Annotated[int, typer.Option("--seed", help="Of the sampling, where the temperature is not 0.")]
AnyProfile = Annotated[
    bool,
    typer.Option("--any-profile", help="Run a model under a harness profile that it was not trained with."),
]


def search(
    *,
    question: Question,
    root: Root = None,
    model: Model = None,
    index: Index = None,
    temperature: Temperature = 0.0,
    seed: Seed = 0,
    any_profile: AnyProfile = False,
    options: SettingsOptions,
) -> None:
    """Searches with a trained model and shows every turn: calls, chunks, prunes, context used, the result.

    The model does not answer the question; it returns a ranked list of the chunks that support an answer.

    Examples:

      context1 search "Which supplier did the company that Orsolya Brandt founded sue?"

      context1 search "who approved the pipeline tariff" --root runs/demo-email -t 0.7 --seed 3
    """
    settings = options.load()
    if not question.strip():
        raise InputError("QUESTION: it is empty; say what to search for")
    folder = run_root(settings, options.profile, root)
    model_folder, index_folder = model_and_index(settings, folder, model, index)
    assert model_folder is not None

    from context1.commands.search_view import run_search

    run_search(settings, question, model_folder, index_folder, temperature, seed, any_profile)


def model_and_index(
    settings: Settings, folder: Path, model: Path | None, index: Path | None
) -> tuple[Path | None, Path | None]:
    """The folders that were named, else those in the run's folder; None for what is served elsewhere.

    Raises `InputError` for one that is not there.
    """
    if model is None and not settings.vllm.url:
        model = next((folder / s for s in ("rl", "sft") if (folder / s).is_dir()), folder / "rl")
    if index is None and (settings.search.backend == "embedded" or (folder / "index").is_dir()):
        index = folder / "index"  # in a cluster, without a folder: the one in use there
    for path, option, mend in (
        (index, "--index", "context1 index build"),
        (model, "--model", "context1 demo"),
    ):
        if path and not path.is_dir():
            raise InputError(f"{option} {path}: no such folder; make one with `{mend}`, or name another")
    return model, index
