"""Plain requests to an API server, as a user of one's choice; watches as iterators of events."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes import config as config_module
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration

from gitbot.simulation.served_resources import ServedResource
from gitbot.simulation.status_errors import ApiError

CONNECT_SECONDS = 5.0
READ_SECONDS = 60.0
WATCH_SECONDS = 3600
TRIES = 4  # of a request that reached nobody
POOL = 32
UNSETTLED = "There can be a delay between when CustomResourceDefinitions are created"
"""What a mutating policy says (503, nothing written) while it has no schema of a changed CRD."""
SETTLING_SECONDS = 30.0  # the policies fetch schemas every 5 s, later on a busy machine
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer. `body` is {} where the server sent no JSON object; header names are small."""

    code: int
    body: dict[str, Any]
    data: bytes
    headers: Mapping[str, str]


def path_of(
    resource: ServedResource, namespace: str = "", name: str = "", subresource: str = ""
) -> str:
    """The path of a collection, an object or a subresource of it."""
    parts = ["apis", resource.group] if resource.group else ["api"]
    parts.append(resource.version)
    if namespace:
        parts += ["namespaces", namespace]
    parts += [part for part in (resource.plural, name, subresource) if part]
    return "/" + "/".join(parts)


class Connection:
    """One API server. `user` impersonates; threads may share it. Refusals raise ApiError."""

    def __init__(self, kubeconfig: str, *, user: str = "") -> None:
        configuration = Configuration()
        config: Any = config_module
        config.load_kube_config(kubeconfig, None, configuration, persist_config=False)
        configuration.retries = False
        configuration.connection_pool_maxsize = POOL
        self._client = ApiClient(configuration)
        self._host = str(configuration.host)
        self._pool: urllib3.PoolManager = self._client.rest_client.pool_manager
        self._user = user
        self.kubeconfig = kubeconfig

    def acting_as(self, user: str) -> Connection:
        """The same server for another user."""
        return Connection(self.kubeconfig, user=user)

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> dict[str, Any]:
        """The decoded answer. Raises ApiError for every answer of 400 and above.

        Asks again, as a user would, while the API server still takes in changed CRDs.
        """
        deadline = time.monotonic() + SETTLING_SECONDS
        while True:
            answer = self.answer(method, path, body, query=query, content_type=content_type)
            if not _unsettled(answer) or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        if answer.code >= 400:
            raise ApiError(
                str(answer.body.get("message") or answer.data[:300]),
                code=answer.code,
                reason=str(answer.body.get("reason") or ""),
                details=answer.body.get("details") or {},
            )
        return answer.body

    def answer(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
        accept: str = JSON,
    ) -> Answer:
        """Whatever the server answers, refusals too. Raises ApiError where it answers nothing."""
        try:
            found = self._send(method, path, body, query or {}, content_type, accept=accept)
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(f"no answer: {error}", code=503, reason="NoAnswer") from error
        headers = {key.lower(): value for key, value in found.headers.itermerged()}
        return Answer(
            code=found.status, body=_decoded(found.data), data=found.data, headers=headers
        )

    def list(self, path: str, query: Mapping[str, str] | None = None) -> tuple[list[Any], str]:
        """All items of a collection, and its resourceVersion."""
        answer = self.request("GET", path, query=query)
        return answer.get("items") or [], answer["metadata"].get("resourceVersion", "")

    def watch(
        self,
        path: str,
        version: str,
        stop: threading.Event,
        selection: Mapping[str, str] | None = None,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Types and objects of the changes after a version, until the server ends it or `stop`.

        `selection` is a labelSelector or fieldSelector as for lists.

        Raises ApiError where the server has forgotten that version (410).
        """
        query = {
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
            **(selection or {}),
        }
        answer = self._open("GET", f"{path}?{urlencode(query)}", None, "", read=None)
        watcher = threading.Thread(target=_end_with, args=(answer, stop), daemon=True)
        watcher.start()
        try:
            if answer.status >= 400:
                raise ApiError(str(answer.read()[:300]), code=answer.status, reason="Watch")
            yield from _events(answer, stop)
        finally:
            answer.close()

    def _send(
        self,
        method: str,
        path: str,
        body: Any,
        query: Mapping[str, str],
        content_type: str,
        *,
        accept: str,
    ) -> urllib3.BaseHTTPResponse:
        url = f"{path}?{urlencode(query)}" if query else path
        data = None if body is None else json.dumps(body).encode()
        for _ in range(TRIES - 1):
            try:
                return self._open(method, url, data, content_type, accept=accept, whole=True)
            except urllib3.exceptions.NewConnectionError:
                time.sleep(0.25)  # the server has only just begun, or is about to go
        return self._open(method, url, data, content_type, accept=accept, whole=True)

    def _open(
        self,
        method: str,
        url: str,
        data: bytes | None,
        content_type: str,
        *,
        accept: str = JSON,
        read: float | None = READ_SECONDS,
        whole: bool = False,
    ) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept, "User-Agent": "kubevirt-controllers"}
        if content_type and data is not None:
            headers["Content-Type"] = content_type
        if self._user:
            headers["Impersonate-User"] = self._user
        self._client.update_params_for_auth(headers, [], ["BearerToken"], url, method, None)
        return self._pool.request(
            method,
            self._host + url,
            body=data,
            headers=headers,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read),
            preload_content=whole,
            retries=False,
        )


def _end_with(answer: urllib3.BaseHTTPResponse, stop: threading.Event) -> None:
    """Ends a watch that waits for its next event when `stop` is set."""
    while not stop.wait(0.5):
        if answer.closed:
            return
    try:
        answer.shutdown()
    except (ValueError, OSError):
        return  # it had ended by itself


def _events(
    answer: urllib3.BaseHTTPResponse, stop: threading.Event
) -> Iterator[tuple[str, dict[str, Any]]]:
    rest = b""
    try:
        for chunk in answer.stream(amt=None, decode_content=True):
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                event = json.loads(line)
                if event["type"] == "ERROR":
                    status = event["object"]
                    raise ApiError(
                        str(status.get("message")), code=int(status.get("code", 500)), reason="Gone"
                    )
                yield event["type"], event["object"]
            if stop.is_set():
                return
    except (urllib3.exceptions.HTTPError, OSError, AttributeError):
        return  # the server went away: watchers list again


def _unsettled(answer: Answer) -> bool:
    return answer.code == 503 and UNSETTLED in str(answer.body.get("message"))


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(data)
    except ValueError:
        return {}
    return decoded if isinstance(decoded, dict) else {}
