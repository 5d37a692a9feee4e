"""Kubernetes' API as plain objects: what is asked for by path, what comes back as JSON."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from context1.errors import ClusterUnavailable, InputError
from context1.settings import ClusterSettings

Object = dict[str, Any]
T = TypeVar("T")

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
TRAINJOBS = "apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs"
PODS = "api/v1/namespaces/{namespace}/pods"
EVENTS = "api/v1/namespaces/{namespace}/events"
LEASES = "apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
SCHEMA = "openapi/v3/apis/trainer.kubeflow.org/v1alpha1"
"""Readable by whoever is known to the cluster."""
WAITS = (5, 30)
"""Seconds to connect, and between two bytes."""


class Missing(Exception):
    """There is no such object."""


class Conflict(Exception):
    """There is such an object already."""


class Api:
    """One namespace of one cluster.

    Raises `Missing`, `Conflict`, `InputError` for what Kubernetes refuses, `ClusterUnavailable` when it does
    not answer. Paths are the constants above, with a name after a slash.
    """

    def __init__(self, settings: ClusterSettings) -> None:
        configuration, namespace = _configuration(settings)
        configuration.retries = False
        if not configuration.verify_ssl:  # the kubeconfig says so; once is enough to know
            warnings.simplefilter("once", urllib3.exceptions.InsecureRequestWarning)
        self.client = client.ApiClient(configuration)
        self.namespace = settings.namespace or namespace
        self.patience = settings.outage_seconds

    def get(self, path: str, **query: str) -> Object:
        """An object, or the list of those that the query selects."""
        return self._json("GET", path, query)

    def has_deadline(self) -> bool:
        """Whether its TrainJobs have a deadline of their own (Trainer 2.2 and later)."""
        try:
            kinds = self.get(SCHEMA)["components"]["schemas"]
        except (Missing, InputError):
            return False
        spec = kinds["org.kubeflow.trainer.v1alpha1.TrainJob"]["properties"]["spec"]
        return "activeDeadlineSeconds" in spec["properties"]

    def create(self, path: str, body: Object) -> Object:
        """The new object, as it was admitted. A field that Kubernetes does not know is an error."""
        return self._json("POST", path, {"fieldValidation": "Strict"}, body)

    def patch(self, path: str, body: Object) -> Object:
        """Merges the body into an object."""
        return self._json("PATCH", path, {}, body)

    def delete(self, path: str) -> None:
        """Asks for the end of an object and of what belongs to it; one that is gone is no error."""
        with suppress(Missing):
            self._json("DELETE", path, {}, {"propagationPolicy": "Foreground"})

    def lines(self, path: str, wait: float, **query: str) -> Iterator[str]:
        """The lines of an answer as they come, until it ends; `wait`: seconds that may pass without any."""
        answer = self._call("GET", path, query, None, (WAITS[0], wait))
        rest = b""
        try:
            for part in answer.stream(amt=None, decode_content=False):
                *whole, rest = (rest + part).split(b"\n")
                yield from (line.decode(errors="replace") for line in whole)
        except urllib3.exceptions.HTTPError as error:
            raise ClusterUnavailable(self._away(error)) from None
        finally:
            answer.close()
        if rest:
            yield rest.decode(errors="replace")

    def patiently(self, call: Callable[[], T]) -> T:
        """The call's result; tried again while Kubernetes is away, for `cluster.outage_seconds`."""
        deadline, pause = time.monotonic() + self.patience, 0.5
        while True:
            try:
                return call()
            except ClusterUnavailable:
                if time.monotonic() > deadline:
                    raise
            time.sleep(pause)
            pause = min(5.0, pause * 2)

    def _json(self, method: str, path: str, query: dict[str, str], body: Object | None = None) -> Object:
        answer = self._call(method, path, query, body, WAITS)
        try:
            found: Object = json.loads(answer.data)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ClusterUnavailable(self._away(error)) from None
        return found

    def _call(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        body: Object | None,
        waits: tuple[float, float],
    ) -> Any:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            return self.client.call_api(
                f"/{path.format(namespace=self.namespace)}",
                method,
                query_params=list(query.items()),
                header_params={"Accept": "application/json", "Content-Type": kind},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _return_http_data_only=True,
                _request_timeout=waits,
            )
        except ApiException as error:
            raise self._refusal(error) from None
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise ClusterUnavailable(self._away(error)) from None

    def _refusal(self, error: ApiException) -> Exception:
        said = _message(error)
        if error.status == 404 and "could not find the requested resource" in said:
            return InputError(f"Kubernetes at {self._host}: {said}; is the Kubeflow Trainer installed?")
        if error.status == 404:
            return Missing(said)
        if error.status == 409:
            return Conflict(said)
        if error.status == 401 or " cannot " in said:  # an admission webhook answers with 403 as well
            hint = "the chart helm/context1-train has a Role for it"
            return InputError(f"Kubernetes at {self._host} refuses: {said}; {hint}")
        if error.status == 429 or not error.status or error.status >= 500:
            return ClusterUnavailable(self._away(said))
        return InputError(f"Kubernetes at {self._host} refuses: {said}")

    def _away(self, why: object) -> str:
        return f"Kubernetes at {self._host} does not answer: {' '.join(str(why).split())[:300]}"

    @property
    def _host(self) -> str:
        return str(self.client.configuration.host)


def _configuration(settings: ClusterSettings) -> tuple[client.Configuration, str]:
    """How the API is reached, and the namespace that one is in there."""
    configuration = client.Configuration()
    if not settings.kubeconfig and not settings.context and NAMESPACE_FILE.exists():
        config.load_incluster_config(client_configuration=configuration)
        return configuration, NAMESPACE_FILE.read_text().strip()
    file, context = settings.kubeconfig or None, settings.context or None
    try:
        config.load_kube_config(file, context, client_configuration=configuration, persist_config=False)
        contexts, current = config.list_kube_config_contexts(file)
    except (config.ConfigException, OSError) as error:
        raise InputError(f"cluster.kubeconfig: no way to Kubernetes: {error}") from None
    chosen = next((one for one in contexts if one["name"] == context), current)
    return configuration, chosen["context"].get("namespace", "default")


def _message(error: ApiException) -> str:
    try:
        body = error.body.decode(errors="replace") if isinstance(error.body, bytes) else str(error.body)
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return f"{error.status} {error.reason}"
