"""How the steps of a pipeline run as pods: resources, nodes, Secrets by name, a company's network."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from context1.settings.section import Section


class PodSettings(Section):
    """The pod of one kind of step."""

    cpu: str = Field("", pattern=r"^(\d+(\.\d+)?|\d+m)?$")
    """CPUs asked for and allowed, as Kubernetes writes them (`4`, `500m`); empty: the namespace's default."""
    memory: str = Field("", pattern=r"^(\d+(\.\d+)?[KMGTPE]i?)?$")
    """Memory asked for and allowed (`16Gi`); empty: the namespace's default."""
    shm: str = ""
    """Size of /dev/shm, in memory, through which GPUs of one pod talk (`8Gi`); empty: the runtime's 64 MB."""
    accelerator: str = "nvidia.com/gpu"
    """Resource name of the accelerator."""
    accelerators: int = Field(0, ge=0)
    """Accelerators a pod."""
    node_selector: dict[str, str] = {}
    """Labels that the node must have."""
    tolerations: list[dict[str, str]] = []
    """Taints that the pod bears: mappings of `key`, `operator`, `value`, `effect`."""


class PipelineSettings(Section):
    """Kubeflow pipelines."""

    host: str = ""
    """Address of the KFP API: `https://kubeflow.example.com/pipeline`."""
    namespace: str = ""
    """Namespace (Kubeflow profile) of experiments and runs; empty where KFP serves one team."""
    experiment: str = "context1"
    """KFP experiment that runs are filed under; made if there is none."""
    token: SecretStr = SecretStr("")
    """Bearer token for the API; empty: the pod's own service-account token, where there is one."""
    cookies: SecretStr = SecretStr("")
    """Cookie header for the API, of a session behind a login page (`authservice_session=...`)."""
    ca_file: Path | None = None
    """Bundle of authorities that the API's certificate is checked with; none: the system's."""
    service_account: str = ""
    """Service account of the steps; empty: KFP's own."""
    artifacts: str = ""
    """Where KFP keeps artifacts (`s3://bucket/prefix`); empty: as the server is set."""
    mlflow_experiment: str = ""
    """MLflow experiment that the server's plugin files the run under; empty: as the server is set."""
    base: PodSettings = PodSettings(cpu="2", memory="8Gi")
    """Steps without a model: ingest, index, generate, verify, report, register."""
    train: PodSettings = PodSettings(cpu="8", memory="64Gi", shm="8Gi")
    """SFT and RL."""
    evaluate: PodSettings = PodSettings(cpu="8", memory="64Gi")
    """The evaluation."""
    tmp: str = Field("10Gi", min_length=1)
    """Size of the empty folder on /tmp, which a read-only root file system needs."""
    retries: int = Field(2, ge=0)
    """Times that a failed step is tried again; it resumes only with a `claim`, else it starts over."""
    backoff: int = Field(60, ge=0)
    """Seconds before the first retry; each later one waits twice as long."""
    timeout: int = Field(0, ge=0)
    """Seconds that a step's pod may take; 0: no limit."""
    claim: str = ""
    """PersistentVolumeClaim on which steps work and resume, mounted at `mount`; empty: none."""
    mount: str = "/mnt/context1"
    """Where `claim` is mounted; give a folder below it as the run's root."""
    secrets: dict[str, dict[str, str]] = {}
    """Kubernetes Secrets as variables: name of the Secret -> {key in it: variable}; never a value."""
    pull_secrets: list[str] = []
    """Names of Kubernetes Secrets that the images are pulled with."""
    ca_config_map: str = ""
    """ConfigMap whose key `ca.crt` is the bundle of authorities that steps trust; empty: the image's own."""
    proxy: str = ""
    """HTTP and HTTPS proxy of the steps, without credentials; empty: none."""
    no_proxy: str = "localhost,127.0.0.1,.svc,.cluster.local"
    """Hosts that are reached without the proxy."""
    variables: dict[str, str] = {}
    """More variables of every step, none of them secret: they are kept in the compiled pipeline."""

    @field_validator("proxy")
    @classmethod
    def _no_credentials(cls, value: str) -> str:
        if "@" in value:
            raise ValueError("holds credentials, which would be kept in the pipeline; put them in a Secret")
        return value
