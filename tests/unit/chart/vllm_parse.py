"""Run by vLLM's own python: parses arguments of `vllm serve` and checks names of environment variables.

Reads `[{"arguments": [...], "environment": [...]}]` from standard input; prints a list of faults for each.
"""

import io
import json
import sys
from contextlib import redirect_stderr
from typing import Any

from vllm import envs
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser


def wrong(case: dict[str, Any]) -> list[str]:
    """What the parser says against the arguments, and the variables that vLLM does not know."""
    problems = [name for name in case["environment"] if name not in envs.environment_variables]
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            make_arg_parser(FlexibleArgumentParser()).parse_args(case["arguments"])
    except SystemExit:
        problems.append(said.getvalue()[-2000:])
    except ValueError as error:
        problems.append(str(error))
    return problems


json.dump([wrong(case) for case in json.load(sys.stdin)], sys.stdout)
