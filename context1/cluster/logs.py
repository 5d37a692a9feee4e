"""The pods' logs as they are written, each line with its pod's number before it."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from context1.cluster.api import PODS, Api, Missing
from context1.cluster.pods import finished, node_number, started
from context1.errors import ClusterUnavailable, InputError

Object = dict[str, Any]

SILENCE = 120.0
"""Seconds without a line after which the stream is opened anew: its connection may be dead."""


class Logs:
    """Shows the logs of the pods that it is given, on standard error; one thread a pod."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self._threads: dict[str, threading.Thread] = {}
        self._finished: set[str] = set()

    def see(self, pod: Object) -> None:
        """Starts to show a pod that has started; knows from then on whether more may come."""
        uid = pod["metadata"]["uid"]
        if finished(pod):
            self._finished.add(uid)
        if started(pod) and uid not in self._threads:
            thread = threading.Thread(target=self._show, args=(pod, uid), daemon=True)
            self._threads[uid] = thread
            thread.start()

    def drain(self, seconds: float) -> None:
        """Waits for the last lines of pods that have ended."""
        deadline = time.monotonic() + seconds
        for uid in self._finished & self._threads.keys():
            self._threads[uid].join(max(0.0, deadline - time.monotonic()))

    def _show(self, pod: Object, uid: str) -> None:
        name, number, last = pod["metadata"]["name"], node_number(pod), ""
        path = f"{PODS}/{name}/log"
        while True:
            ended = uid in self._finished
            since = {"sinceTime": last} if last else {}
            try:
                for line in self.api.lines(
                    path, SILENCE, container="node", follow="true", timestamps="true", **since
                ):
                    when, _, text = line.partition(" ")
                    if when > last:  # a stream that is opened anew begins with the second that it ended in
                        last = when
                        print(f"[node {number}] {text}", file=sys.stderr, flush=True)
            except (Missing, InputError):  # the pod is gone, or its container is not there yet
                return
            except ClusterUnavailable:
                ended = False
            if ended:
                return
            time.sleep(1)
