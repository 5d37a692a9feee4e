"""Credentials as people have them, through a proxy with TLS by a private authority and authentication."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, quote

import pytest
import trustme
from aiohttp import web

from context1.errors import InputError
from context1.search.backend import SearchUnavailable
from context1.search.opensearch.backend import OpenSearchBackend
from context1.search.opensearch.build import build_opensearch_index
from context1.settings import Settings
from tests.integration.search.conftest import WORDS, made_up
from tests.integration.search.proxy import Proxy

pytestmark = pytest.mark.slow

SECRET = "hunter2hunter2"


class Authority:
    """A private certificate authority, with its files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.ca = trustme.CA()
        self.folder = folder
        self.bundle = folder / "ca.pem"
        self.write_bundle()

    def write_bundle(self) -> None:
        self.ca.cert_pem.write_to_path(str(self.bundle))

    def server(self, name: str = "localhost", clients: trustme.CA | None = None) -> ssl.SSLContext:
        """A server's side; `clients` is the authority that clients need a certificate of."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.ca.issue_cert(name).configure_cert(context)
        if clients:
            clients.configure_trust(context)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def client(self, name: str = "agent") -> tuple[Path, Path]:
        """A client's certificate and key, as files."""
        issued = self.ca.issue_cert(f"{name}@example.org")
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        issued.cert_chain_pems[0].write_to_path(str(certificate))
        issued.private_key_pem.write_to_path(str(key))
        return certificate, key


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def gives_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context1.search.opensearch.target.OPENING", 2.0)


def through(proxy: Proxy, settings: Settings, **more: object) -> Settings:
    changed = {name.replace("__", "."): value for name, value in more.items()}
    base = {f"opensearch.{name}": value for name, value in settings.opensearch.model_dump().items()}
    search = {"search.backend": "opensearch", "search.embedder": "hash"}
    return Settings.load(overrides=base | search | {"opensearch.hosts": [proxy.url]} | changed)


def works(settings: Settings) -> None:
    """Builds and searches with these settings."""
    build_opensearch_index(lambda: made_up(20), "credentials", settings)
    backend = OpenSearchBackend.open(settings)
    assert asyncio.run(backend.search(made_up(20)[3].text))[0].chunk == made_up(20)[3]
    backend.close()


def header(expected: str) -> Callable[[web.Request, bytes], bool]:
    return lambda request, _: request.headers.get("Authorization") == expected


def test_basic_authentication(make_settings, make_proxy, authority) -> None:
    token = base64.b64encode(f"agent:{SECRET}".encode()).decode()
    proxy = make_proxy(tls=authority.server(), allows=header(f"Basic {token}"))
    entered = {
        "opensearch__ca_bundle": str(authority.bundle),
        "opensearch__username": "agent",
        "opensearch__password": SECRET,
    }
    works(through(proxy, make_settings(), **entered))
    assert proxy.refused == 0
    wrong = through(proxy, make_settings(), **(entered | {"opensearch__password": "wrong" + SECRET}))
    with pytest.raises(InputError, match=r"401.*opensearch\.username") as caught:
        OpenSearchBackend.open(wrong)
    assert SECRET not in str(caught.value) and proxy.refused == 1, "not tried again"
    with pytest.raises(InputError, match="CONTEXT1_OPENSEARCH__PASSWORD"):
        OpenSearchBackend.open(through(proxy, make_settings(), **(entered | {"opensearch__password": ""})))


def test_an_api_key(make_settings, make_proxy, authority) -> None:
    proxy = make_proxy(tls=authority.server(), allows=header(f"ApiKey {SECRET}"))
    entered = {"opensearch__ca_bundle": str(authority.bundle), "opensearch__api_key": SECRET}
    works(through(proxy, make_settings(), **entered))
    assert proxy.refused == 0
    with pytest.raises(InputError, match=r"401.*api_key") as caught:
        OpenSearchBackend.open(through(proxy, make_settings(), **(entered | {"opensearch__api_key": "no"})))
    assert SECRET not in str(caught.value) and proxy.refused == 1, "not tried again"


def test_a_secret_in_the_environment_alone(make_settings, make_proxy, authority, monkeypatch) -> None:
    proxy = make_proxy(tls=authority.server(), allows=header(f"ApiKey {SECRET}"))
    settings = through(proxy, make_settings(), opensearch__ca_bundle=str(authority.bundle))
    monkeypatch.setenv("CONTEXT1_OPENSEARCH__API_KEY", SECRET)
    works(settings)
    works(through(proxy, make_settings(), opensearch__ca_bundle=str(authority.bundle)))
    assert proxy.refused == 0


def test_client_certificates(make_settings, make_proxy, authority, monkeypatch) -> None:
    proxy = make_proxy(tls=authority.server(clients=authority.ca))
    certificate, key = authority.client()
    entered = {
        "opensearch__ca_bundle": str(authority.bundle),
        "opensearch__client_cert": str(certificate),
        "opensearch__client_key": str(key),
    }
    works(through(proxy, make_settings(), **entered))
    before = proxy.requests
    gives_up_soon(monkeypatch)
    with pytest.raises(SearchUnavailable):
        OpenSearchBackend.open(through(proxy, make_settings(), opensearch__ca_bundle=str(authority.bundle)))
    assert proxy.requests == before
    key.write_text("no key")
    with pytest.raises(InputError, match=r"opensearch\.client_key.*not usable"):
        OpenSearchBackend.open(through(proxy, make_settings(), **entered))


@pytest.mark.parametrize("wrong", ["no bundle", "another authority", "another name"])
def test_a_server_that_cannot_prove_who_it_is(
    wrong, make_settings, make_proxy, authority, tmp_path, monkeypatch
) -> None:
    gives_up_soon(monkeypatch)
    proxy = make_proxy(tls=authority.server("elsewhere.example" if wrong == "another name" else "localhost"))
    (tmp_path / "other").mkdir()
    bundle = {"no bundle": "", "another authority": str(Authority(tmp_path / "other").bundle)}
    settings = through(proxy, make_settings(), opensearch__ca_bundle=bundle.get(wrong, str(authority.bundle)))
    with pytest.raises(SearchUnavailable, match="certificate verify failed") as caught:
        OpenSearchBackend.open(settings)
    assert ("elsewhere" in str(caught.value) or "ostname" in str(caught.value)) == (wrong == "another name")
    assert proxy.requests == 0


def test_signed_requests(make_settings, make_proxy, authority, monkeypatch) -> None:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    proxy = make_proxy(tls=authority.server(), allows=lambda request, body: signed(request, body, SECRET))
    entered = {"opensearch__ca_bundle": str(authority.bundle), "opensearch__aws_region": "eu-west-1"}
    works(through(proxy, make_settings(), **entered))
    assert proxy.refused == 0 and proxy.requests > 5
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(InputError, match=r"401.*aws_region"):
        OpenSearchBackend.open(through(proxy, make_settings(), **entered))


def signed(request: web.Request, body: bytes, secret: str) -> bool:
    """Signature Version 4, written out from its specification."""
    scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
    fields = dict(field.strip().split("=", 1) for field in rest.split(",") if "=" in field)
    if scheme != "AWS4-HMAC-SHA256":
        return False
    _, day, region, service, _ = fields["Credential"].split("/")
    names = fields["SignedHeaders"].split(";")
    query = sorted(
        (quote(k, safe="-_.~"), quote(v, safe="-_.~")) for k, v in parse_qsl(request.query_string, True)
    )
    canonical = "\n".join(
        [
            request.method,
            quote(request.rel_url.raw_path, safe="/-_.~"),
            "&".join(f"{name}={value}" for name, value in query),
            *(f"{name}:{' '.join(request.headers[name].split())}" for name in names),
            "",
            fields["SignedHeaders"],
            hashlib.sha256(body).hexdigest(),
        ]
    )
    scope = f"{day}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{request.headers['X-Amz-Date']}\n{scope}\n{digest}"
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.compare_digest(hmac.new(key, text.encode(), hashlib.sha256).hexdigest(), fields["Signature"])


def test_certificates_are_rotated_in_mid_run(make_settings, make_proxy, authority, tmp_path) -> None:
    """New authority, new server and client certificates; the old ones are refused from then on."""
    proxy = make_proxy(tls=authority.server(clients=authority.ca))
    certificate, key = authority.client()
    settings = through(
        proxy,
        make_settings(),
        opensearch__ca_bundle=str(authority.bundle),
        opensearch__client_cert=str(certificate),
        opensearch__client_key=str(key),
    )
    build_opensearch_index(lambda: made_up(40), "rotation", settings)
    backend = OpenSearchBackend.open(settings)
    stop, found = threading.Event(), []

    async def search_on() -> None:
        number = 0
        while not stop.is_set():
            word = WORDS[(number := number + 1) % len(WORDS)]
            found.append(len(await backend.search(word)))

    searching = threading.Thread(target=lambda: asyncio.run(search_on()))
    searching.start()
    try:
        for _ in range(3):
            wait_for_more(found)
            authority.ca = trustme.CA()
            authority.write_bundle()
            authority.client()
            proxy.go_away()
            proxy.come_back(tls=authority.server(clients=authority.ca))
            wait_for_more(found)
    finally:
        stop.set()
        searching.join()
    assert searching.is_alive() is False and len(found) > 12
    assert backend.counters.failures.total() == 0  # retried at most
    backend.close()


def wait_for_more(found: list[int]) -> None:
    before, until = len(found), time.monotonic() + 60
    while len(found) < before + 2:
        assert time.monotonic() < until, "searches do not go on"
        time.sleep(0.02)


def test_half_written_files_wait(make_settings, make_proxy, authority) -> None:
    proxy = make_proxy(tls=authority.server(clients=authority.ca))
    certificate, key = authority.client()
    settings = through(
        proxy,
        make_settings(),
        opensearch__ca_bundle=str(authority.bundle),
        opensearch__client_cert=str(certificate),
        opensearch__client_key=str(key),
    )
    works(settings)
    backend = OpenSearchBackend.open(settings)
    old = key.read_bytes()
    authority.client()  # a new certificate, and for a while still the old key
    new = key.read_bytes()
    key.write_bytes(old)
    proxy.drop_connections()
    assert asyncio.run(backend.search(WORDS[0]))
    key.write_bytes(new)
    proxy.drop_connections()
    assert asyncio.run(backend.search(WORDS[0]))
    backend.close()
