"""TLS that breaks after a write was sent: its outcome is unknown, however the client words it."""

from __future__ import annotations

import json
import os
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from gitbot.adapters.kubernetes.cluster import KubernetesCluster
from gitbot.adapters.kubernetes.transport import Transport
from gitbot.errors import NotSent, OutcomeUnknown
from gitbot.simulation.http import kubeconfig_text
from tests.contracts.cluster_scene import migration
from tests.forge.certificate import tls_context

DAMAGED = b"\x17\x03\x03\x00\x20" + bytes(32)  # a record that nobody encrypted
BEGUN = b"HTTP/1.1 201 Created\r\nContent-Length: 900\r\n\r\n{"


def connect(folder: Path, port: int, trusted: Path | None) -> KubernetesCluster:
    config = json.loads(kubeconfig_text(server=f"https://127.0.0.1:{port}", context="prod"))
    if trusted is not None:
        config["clusters"][0]["cluster"]["certificate-authority"] = str(trusted)
    file = folder / "kubeconfig"
    file.write_text(json.dumps(config))
    return KubernetesCluster(transport=Transport(kubeconfig=str(file), sleep=lambda _: None))


def answer(
    listener: socket.socket, context: ssl.SSLContext, said: bytes, seen: list[bytes]
) -> None:
    """Take one request, say so much, and damage the connection."""
    plain, _ = listener.accept()
    wire = socket.socket(fileno=os.dup(plain.fileno()))
    with plain, wire:
        try:
            secured = context.wrap_socket(plain, server_side=True)
        except ssl.SSLError:
            return  # the client does not trust us
        with secured:
            seen.append(secured.recv(65_536))
            if said:
                secured.sendall(said)
            wire.sendall(DAMAGED)
            with suppress(ConnectionError):
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
