"""The official client, used only as an authenticated transport.

Its configuration provides kubeconfig, contexts, exec plugins, client certificates and the
in-cluster account; its typed models are never imported. Every request has a timeout, reads are
repeated within a budget, writes are sent once.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from gitbot.adapters.authorities import HINT, is_untrusted
from gitbot.adapters.bounded_http_body import whole
from gitbot.adapters.kubernetes.client_logs import make_logs_harmless
from gitbot.adapters.working_tree import temporary_folder
from gitbot.errors import ClusterError, NoCluster, NotSent, OutcomeUnknown
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.ports.cluster import ClusterTraffic, Gate, no_gate

CONNECT_SECONDS = 10
READ_SECONDS = 60
WRITE_SECONDS = 40  # less than the time that a claim allows for a delivery
LARGEST = 512 * 1024 * 1024  # bytes of a response: a page of objects as large as etcd stores them
SILENT_SECONDS = 90  # a stream with bookmarks has one about every minute
_CONNECTIONS = 50  # kept open: each kind that is watched has one
_PIECE = 256 * 1024
_TIMES = 3  # a page may take longer than one timeout if bytes keep arriving
JSON = "application/json"
PRINTED = f"{JSON};as=Table;v=v1;g=meta.k8s.io,{JSON}"  # as kubectl asks for its columns
PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between the tries of a read; one try more than pauses."""

MAX_RETRY_AFTER = 30
_SOCKET_OPTIONS = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
if hasattr(socket, "TCP_USER_TIMEOUT"):  # else the kernel sends closed data for minutes
    _SOCKET_OPTIONS.append((socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, WRITE_SECONDS * 1000))
_BUSY = frozenset({429, 500, 502, 503, 504})
_GIVE = "give --kubeconfig and --context"
_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """One complete HTTP response."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    lines: Lines | None = None  # of a stream that begins: its body is not read yet

    @property
    def date(self) -> int:
        """The server's clock in seconds UTC. Raises ClusterError if the answer has no Date."""
        try:
            return int(parsedate_to_datetime(self.headers.get("date", "")).timestamp())
        except (ValueError, OverflowError):
            message = "the API server sent no Date header, so its clock is not known"
            raise ClusterError(message) from None


class Lines:
    """The lines of a response as they arrive; `cut` ends them, from another thread too."""

    def __init__(self, response: Any, came: Callable[[int], None]) -> None:
        self._response = response
        self._came = came

    def __iter__(self) -> Iterator[bytes]:
        """Ends with the response, of which an unfinished last line is left out.

        Raises ClusterError if the response breaks, or is silent for SILENT_SECONDS.
        """
        import urllib3  # noqa: PLC0415 - comes with the client, as late as the client

        held = bytearray()
        try:
            while part := self._response.read1(_PIECE):
                self._came(len(part))
                held += part
                if b"\n" in part:
                    *whole_lines, rest = held.split(b"\n")
                    held = rest
                    yield from map(bytes, filter(None, whole_lines))
                if len(held) > LARGEST:
                    raise ClusterError("a stream has a line that does not end")
        except (urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError) as error:
            raise ClusterError(f"a stream broke: {_short(error)}") from error
        finally:
            self._response.close()

    def cut(self) -> None:
        with suppress(ValueError, RuntimeError, OSError):  # it ended by itself
            self._response.shutdown()


class Transport:
    """Requests to one API server, by path. Raises ClusterError, and OutcomeUnknown for writes."""

    def __init__(
        self,
        *,
        kubeconfig: str = "",
        context: str = "",
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._kubeconfig = kubeconfig
        self._sleep = sleep
        self._gate: Gate = no_gate  # of the request that is being sent
        self._lock = threading.Lock()  # each stream has its thread
        self._traffic = ClusterTraffic()
        self._client, self.context = _connect(kubeconfig, context, self._ask_gate)

    @property
    def traffic(self) -> ClusterTraffic:
        return self._traffic

    def _count(self, more: ClusterTraffic) -> None:
        with self._lock:
            self._traffic += more

    def _came(self, size: int) -> None:
        self._count(ClusterTraffic(received=size))

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._client.rest_client.pool_manager.clear()

    def read(
        self, path: str, query: Mapping[str, str] | None = None, *, accept: str = JSON
    ) -> HttpAnswer:
        """GET, repeated while the server is busy or unreachable. Returns any final answer."""
        reason = ""
        for pause in (*PAUSES, None):
            try:
                answer = self._send("GET", path, query or {}, accept=accept)
            except _UntrustedError as error:
                raise ClusterError(
                    f"the API server of context {self.context!r} cannot be read: {error}",
                    hint=f"{HINT}, or as certificate-authority-data into the kubeconfig",
                ) from error
            except (_RequestNotSent, _ResponseLost) as error:
                reason = str(error)
            else:
                if answer.status not in _BUSY or pause is None:
                    return answer
                reason = f"answer {answer.status}"
                pause = max(pause, retry_after(answer))  # noqa: PLW2901 - the server's wish
            if pause is not None:
                self._sleep(pause)
        raise ClusterError(
            f"the API server of context {self.context!r} cannot be read: {reason}",
            hint="check the network, the kubeconfig and the server",
        )

    def ask(self, path: str, query: Mapping[str, str], *, stream: bool = False) -> HttpAnswer:
        """GET, once: any answer. With `stream`, the body of a 200 arrives line by line."""
        try:
            return self._send("GET", path, query, stream=stream)
        except (_RequestNotSent, _ResponseLost) as error:
            raise ClusterError(f"{path}: {error}") from error

    def write(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any],
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        gate: Gate = no_gate,
    ) -> HttpAnswer:
        """Send one write, once. Raises OutcomeUnknown if the server may have carried it out."""
        try:
            answer = self._send(method, path, query or {}, body, content_type, gate=gate)
        except _RequestNotSent as error:
            raise NotSent(
                f"{method} {path} was not sent: {error}", hint="nothing was changed; try again"
            ) from error
        except _ResponseLost as error:
            raise OutcomeUnknown(
                f"{method} {path}: the answer was lost: {error}",
                hint="read the object before anything else",
            ) from error
        if answer.status >= 500:
            raise OutcomeUnknown(
                f"{method} {path}: answer {answer.status}: {answer.body[:300]!r}",
                hint="read the object before anything else",
            )
        return answer

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        content_type: str = "",
        *,
        gate: Gate = no_gate,
        stream: bool = False,
        accept: str = JSON,
    ) -> HttpAnswer:
        self._gate = gate
        answer = self._send_once(
            method, path, query, body, content_type, stream=stream, accept=accept
        )
        if answer.status != 401:
            return answer
        # 401 changed nothing. The token may have been rotated: read the credentials again, once.
        self.close()
        self._client, _ = _connect(self._kubeconfig, self.context, self._ask_gate)
        answer = self._send_once(
            method, path, query, body, content_type, stream=stream, accept=accept
        )
        if answer.status == 401:
            raise ClusterError(
                f"the API server of context {self.context!r} does not accept the credentials",
                hint="renew the token or certificate of that context",
            )
        return answer

    def _send_once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None,
        content_type: str,
        *,
        stream: bool = False,
        accept: str = JSON,
    ) -> HttpAnswer:
        import urllib3  # noqa: PLC0415 - comes with the client, as late as the client
        from kubernetes.client.exceptions import ApiException  # noqa: PLC0415
        from kubernetes.config import ConfigException  # noqa: PLC0415

        headers = {"Accept": accept, "User-Agent": "gitbot"}
        if content_type:
            headers["Content-Type"] = content_type
        url = self._client.configuration.host + path
        if query:
            url += "?" + urlencode(query)
        try:
            self._client.update_params_for_auth(headers, [], ["BearerToken"], path, method, body)
        except (ConfigException, OSError) as error:
            raise ClusterError(f"no credentials for {self.context!r}: {error}") from error
        headers = _sendable(headers, self.context)
        seconds = READ_SECONDS if method == "GET" else WRITE_SECONDS
        seconds = SILENT_SECONDS if stream else seconds
        lines: Lines | None = None
        self._count(ClusterTraffic(sent=1))
        try:
            response = self._client.call_api(
                method, url, headers, body, _request_timeout=(CONNECT_SECONDS, seconds)
            )
            if stream and response.status == 200:
                data, lines = b"", Lines(response.response, self._came)
            else:
                data = whole(response.response, most=LARGEST, seconds=_TIMES * seconds)
                self._came(len(data))
        except (
            urllib3.exceptions.NewConnectionError,
            urllib3.exceptions.ConnectTimeoutError,
        ) as error:
            raise _RequestNotSent(_short(error)) from error
        except (urllib3.exceptions.HTTPError, ApiException, OSError) as error:
            raise (_UntrustedError if is_untrusted(error) else _ResponseLost)(
                _short(error)
            ) from error
        names = {key.lower(): str(value) for key, value in response.headers.items()}
        return HttpAnswer(status=response.status, body=data, headers=names, lines=lines)

    def _ask_gate(self) -> None:
        if refusal := self._gate():
            raise _RequestNotSent(refusal)


def _sendable(headers: Mapping[str, str], context: str) -> dict[str, str]:
    """Headers without the line end of a token's file. http.client would quote an invalid one."""
    bare = {name: text.strip() for name, text in headers.items()}
    if not all(text.isascii() and text.isprintable() for text in bare.values()):
        raise ClusterError(
            f"the token of context {context!r} holds a sign that no header may hold",
            hint="see the file, the program or the kubeconfig that it comes from",
        )
    return bare


class _RequestNotSent(Exception):
    """The request did not reach the server."""


class _UntrustedError(_RequestNotSent):
    """The server's certificate is not trusted."""


class _ResponseLost(Exception):
    """The request may have reached the server, but its answer is missing or incomplete."""


def _connect(kubeconfig: str, context: str, ask: Callable[[], None]) -> tuple[Any, str]:
    """An ApiClient that calls `ask` before each request, and the name of its context.

    Raises ClusterError.
    """
    from kubernetes import config as config_module  # noqa: PLC0415 - the client is heavy
    from kubernetes.client.api_client import ApiClient  # noqa: PLC0415
    from kubernetes.client.configuration import Configuration  # noqa: PLC0415

    from gitbot.adapters.kubernetes.gated_connection import ask_when_connected  # noqa: PLC0415

    config: Any = config_module  # untyped
    make_logs_harmless()
    configuration = Configuration()
    file = _kubeconfig_file(kubeconfig)
    if file and not any(Path(part).expanduser().exists() for part in file.split(os.pathsep)):
        raise NoCluster(f"no cluster to talk to: there is no kubeconfig {file}", hint=_GIVE)
    try:
        if file and context:
            _check_context(config, file, context)
        if not file:
            config.load_incluster_config(client_configuration=configuration)
            name = context or "in-cluster"
        else:
            keys = _key_folder()
            config.load_kube_config(
                file, context or None, configuration, persist_config=False, temp_file_path=keys
            )
            name = context or str(config.list_kube_config_contexts(file)[1]["name"])
    except ClusterError:
        raise
    except Exception as error:  # the client raises any error of its parts, YAML errors included
        reason = _short(error).rstrip(".")
        if isinstance(
            error, TypeError | AttributeError | LookupError
        ):  # about the client's internals
            reason = f"{file} is not a kubeconfig"
        raise ClusterError(f"no cluster to talk to: {reason}", hint=_GIVE) from error
    configuration.connection_pool_maxsize = _CONNECTIONS
    configuration.retries = False  # this file alone decides what is repeated
    configuration.socket_options = _SOCKET_OPTIONS
    try:
        client = ApiClient(configuration)
    except Exception:  # noqa: BLE001 - of a proxy; its text may quote a password
        message = f"no cluster to talk to: context {name!r} or HTTPS_PROXY names no usable proxy"
        hint = "write http://HOST:PORT, and signs of a password as in URLs: # is %23; no socks5"
        raise ClusterError(message, hint=hint) from None
    ask_when_connected(client.rest_client.pool_manager, ask)
    return client, name


@cache
def _key_folder() -> str:
    """Where the client writes certificates and keys of kubeconfigs, as OpenSSL reads only files.

    The client removes them at the end of the process. After a kill, the next run does.
    """
    held = ExitStack()
    atexit.register(held.close)
    return str(held.enter_context(temporary_folder("keys")))


def _check_context(config: Any, file: str, context: str) -> None:
    names = sorted(str(item["name"]) for item in config.list_kube_config_contexts(file)[0])
    if context not in names:
        raise ClusterError(
            f"the kubeconfig has no context {context}; it has {', '.join(names) or 'none'}",
            hint=f"set clusters[].context in {CONFIGURATION_FILE}, or give --context",
        )


def _kubeconfig_file(kubeconfig: str) -> str:
    """The kubeconfig to read; "" for the account of gitbot's own pod."""
    given = kubeconfig or os.environ.get("KUBECONFIG", "")
    if given:
        return given
    default = Path("~/.kube/config").expanduser()
    inside = "KUBERNETES_SERVICE_HOST" in os.environ and _ACCOUNT_TOKEN.exists()
    return "" if inside and not default.exists() else str(default)


def retry_after(answer: HttpAnswer) -> float:
    text = answer.headers.get("retry-after", "")
    return float(min(int(text[:9]), MAX_RETRY_AFTER)) if text.isdecimal() else 0.0


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
