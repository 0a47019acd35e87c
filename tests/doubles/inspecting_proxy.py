"""A company's proxy, which opens TLS and signs with the company's own authority.

It knows hosts that no DNS knows: a client that does not ask it reaches none of them.
"""

import select
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tests.controlplane.certificates import Authority
from tests.doubles.listener import Listener, RequestHandler

POLL_SECONDS = 0.1  # between looks whether the proxy has ended
CHUNK = 65536


class InspectingProxy:
    """Serves CONNECT, from `with` to its end.

    `servers` has the address of a server without TLS, `127.0.0.1:<port>`, by the name of its host.
    """

    def __init__(self, folder: Path, servers: Mapping[str, str]) -> None:
        authority = Authority()
        self.trusted = folder / "company-ca.pem"
        self.trusted.write_text(authority.certificate)
        pair = authority.server(*servers)
        chain = folder / "proxy.pem"
        chain.touch(mode=0o600)
        chain.write_text(pair.certificate + pair.key)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(chain)
        self.servers = servers
        self.asked: list[str] = []
        self.ended = False
        self._listener = _Listener(_Connection, "proxy")
        self._listener.owner = self

    @property
    def url(self) -> str:
        return f"http://{self._listener.address}"

    def __enter__(self) -> Self:
        self._listener.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self._listener.stop()


class _Listener(Listener):
    owner: InspectingProxy


class _Connection(RequestHandler):
    server: _Listener

    def serve(self) -> None:
        self.send_error(501, "only CONNECT")

    def do_CONNECT(self) -> None:  # noqa: N802 - the base class's names
        owner = self.server.owner
        host = self.path.rpartition(":")[0]
        owner.asked.append(host)
        if host not in owner.servers:
            self.send_error(403, "no such host")
            return
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        address, _, port = owner.servers[host].rpartition(":")
        with (
            owner.context.wrap_socket(self.connection, server_side=True) as inside,
            socket.create_connection((address, int(port))) as outside,
        ):
            while not owner.ended and _relayed(inside, outside):
                pass


def _relayed(inside: ssl.SSLSocket, outside: socket.socket) -> bool:
    """Pass on what has come, for a moment; False at the end of one of them."""
    ready: list[socket.socket] = [inside]
    if not inside.pending():  # what TLS has decrypted already does not make its socket readable
        ready = select.select([inside, outside], [], [], POLL_SECONDS)[0]
    for one in ready:
        data = one.recv(CHUNK)
        if not data:
            return False
        (outside if one is inside else inside).sendall(data)
    return True
