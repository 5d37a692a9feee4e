"""Run as each machine by test_nodes.py: the real `context1.training.node`, with the ranks of kill_rank.py.

`kill_node.py NAME FOLDER [MOMENT COUNT]`.
"""

import sys
from pathlib import Path

from context1.training import job, node

RANK = str(Path(__file__).with_name("kill_rank.py"))

if __name__ == "__main__":
    kill = sys.argv[3:]
    job.worker_command = lambda _, path: [sys.executable, RANK, path, *kill]  # type: ignore[attr-defined]
    sys.exit(node.main(sys.argv[1:3]))
