"""Connections that break after a write was sent: nobody concludes that it does not arrive.

TLS may break with the answer; and a kernel sends what was closed again, unless it is told when to
give up.
"""

import json
import os
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from urllib3 import HTTPConnectionPool, PoolManager
from urllib3.connection import HTTPConnection
from urllib3.util import connection

from gitbot.adapters.kubernetes.gated_connection import ask_when_connected
from gitbot.adapters.kubernetes.kubernetes_cluster import KubernetesCluster
from gitbot.adapters.kubernetes.transport import WRITE_SECONDS, Transport
from gitbot.errors import NotSent, OutcomeUnknown
from gitbot.simulation.http import kubeconfig_text
from tests.contracts.cluster_scene import migration
from tests.forge.certificate import tls_context

DAMAGED = b"\x17\x03\x03\x00\x20" + bytes(32)  # a record that nobody encrypted
BEGUN = b"HTTP/1.1 201 Created\r\nContent-Length: 900\r\n\r\n{"


def connect(
    folder: Path, port: int, trusted: Path | None, *, scheme: str = "https"
) -> KubernetesCluster:
    config = json.loads(kubeconfig_text(server=f"{scheme}://127.0.0.1:{port}", context="prod"))
    if trusted is not None:
        config["clusters"][0]["cluster"]["certificate-authority"] = str(trusted)
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return KubernetesCluster(transport=Transport(kubeconfig=str(file), sleep=lambda _: None))


def answer(
    listener: socket.socket, context: ssl.SSLContext | None, said: bytes, seen: list[bytes]
) -> None:
    """Take one request, say so much, and damage the connection; without a context in plain text."""
    plain, _ = listener.accept()
    wire = socket.socket(fileno=os.dup(plain.fileno()))
    with plain, wire:
        if context is None:
            seen.append(plain.recv(65_536))
            return
        try:
            secured = context.wrap_socket(plain, server_side=True)
        except ssl.SSLError:
            return  # the client does not trust us
        with secured, suppress(ConnectionError):
            seen.append(secured.recv(65_536))
            if said:
                secured.sendall(said)
            wire.sendall(DAMAGED)
            while wire.recv(65_536):
                continue


@pytest.mark.parametrize(
    ("trusts", "said", "failure"),
    [(True, b"", OutcomeUnknown), (True, BEGUN, OutcomeUnknown), (False, b"", NotSent)],
    ids=["before the answer", "within the answer", "before the request"],
)
def test_only_a_refused_certificate_shows_that_nothing_was_sent(
    tmp_path: Path, trusts: bool, said: bytes, failure: type[Exception]
) -> None:
    context, trusted = tls_context(tmp_path)
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        server = threading.Thread(target=answer, args=(listener, context, said, seen))
        server.start()
        cluster = connect(tmp_path, port, trusted if trusts else None)
        with pytest.raises(failure):
            cluster.create_migration(migration("one"))
        server.join()
    assert bool(seen) is trusts


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has it")
def test_the_kernel_gives_up_when_the_client_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds: list[float] = []
    connects = connection.create_connection

    def noted(*arguments: Any, **named: Any) -> socket.socket:
        wire = connects(*arguments, **named)
        limit = wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
        seconds.append(limit / 1000)
        return wire

    monkeypatch.setattr(connection, "create_connection", noted)
    context, trusted = tls_context(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=answer, args=(listener, context, b"", []))
        server.start()
        cluster = connect(tmp_path, listener.getsockname()[1], trusted)
        with pytest.raises(OutcomeUnknown):
            cluster.create_migration(migration("one"))
        server.join()
    assert seconds == [WRITE_SECONDS]


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_claim_that_ends_while_the_client_connects_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, late: bool
) -> None:
    """Names are looked up without a limit, and each address of a name has its own."""
    happened: list[str] = []
    connects = connection.create_connection

    def slow(*arguments: Any, **named: Any) -> socket.socket:
        happened.append("connects")
        return connects(*arguments, **named)

    def gate() -> str:
        happened.append("asks")
        return "too late" if late and "connects" in happened else ""

    monkeypatch.setattr(connection, "create_connection", slow)
    context, trusted = tls_context(tmp_path)
    seen: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        secured = context if scheme == "https" else None
        server = threading.Thread(target=answer, args=(listener, secured, b"", seen), daemon=True)
        server.start()
        cluster = connect(tmp_path, port, trusted, scheme=scheme)
        with pytest.raises(NotSent if late else OutcomeUnknown, match="too late" if late else None):
            cluster.create_migration(migration("one"), gate=gate)
        server.join()
    assert happened == ["connects", "asks"]
    assert bool(b"".join(seen)) is not late


def test_connections_that_know_a_way_of_their_own_keep_it() -> None:
    """As those of urllib3's SOCKSProxyManager, which get options that no others know."""

    class OwnConnection(HTTPConnection):
        def __init__(self, *args: Any, _socks_options: str, **named: Any) -> None:
            super().__init__(*args, **named)
            self.way = _socks_options

        def _new_conn(self) -> socket.socket:
            return socket.create_connection(("127.0.0.1", int(self.way)))

    class OwnPool(HTTPConnectionPool):
        ConnectionCls = OwnConnection

    asked: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        way = str(listener.getsockname()[1])
        manager = PoolManager()
        manager.pool_classes_by_scheme = {"http": OwnPool}
        ask_when_connected(manager, lambda: asked.append("asked"))
        gated = manager.pool_classes_by_scheme["http"]("elsewhere.invalid", _socks_options=way)
        server = threading.Thread(target=answer_in_full, args=(listener,))
        server.start()
        assert gated.request("GET", "/").data == b"{}"
        server.join()
    assert asked == ["asked"]


def answer_in_full(listener: socket.socket) -> None:
    with listener.accept()[0] as plain:
        plain.recv(65_536)
        plain.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
