"""Kubernetes' url library: apiserver, pkg/cel/library/urls.go, and Go's net/url that it asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, unquote, unquote_plus

from gitbot.policy.library.values import CelFunction, Opaque, opaque, succeeds

URL = "kubernetes.URL"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
_ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})")
_PORT = re.compile(r"(:[0-9]*)?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HOST = re.compile(r"(?:[^\x00-\x20\x7f#%/<>?@\[\\\]^`{|}]|[\"<>]|%[89A-Fa-f][0-9A-Fa-f])*")
_USER = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*")
_PATH = re.compile(r"(?:[A-Za-z0-9!$&'()*+,;=:@\[\]/._~-]|%[0-9A-Fa-f]{2})*")
_SAFE = "/$&+,:;=@-_.~"


def read_url(text: str) -> Opaque:
    """An absolute URL or an absolute path. Raises ValueError for another text."""
    _split(text, fragment=False)
    scheme, host, path, query = _split(text, fragment=True)
    return opaque("URL", scheme=scheme, host=host, path=path, query=query)


def _split(text: str, *, fragment: bool) -> tuple[str, str, str, str]:
    if not text or _CONTROL.search(text):
        raise ValueError(f"{text!r} is not a URL: empty, or with a control character")
    if fragment:
        text, _, behind = text.partition("#")
        _unescaped(behind)
    if text == "*":
        return "", "", "*", ""
    scheme, rest = "", text
    if match := _SCHEME.fullmatch(text):
        scheme, rest = match[1].lower(), match[2]
    elif text.startswith(":"):
        raise ValueError("missing protocol scheme")
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return scheme, "", "", query  # opaque, as mailto:somebody
        raise ValueError("invalid URI for request")
    host = ""
    if rest.startswith("//") and (scheme or (fragment and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        host, rest = _host(authority), slash + path
    _unescaped(rest)
    return scheme, host, rest, query


def _host(authority: str) -> str:
    user, at, host = authority.rpartition("@")
    if at and not _USER.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    _unescaped(user)
    inner, port = host, ""
    if host.startswith("["):
        inner, bracket, port = host.rpartition("]")
        if not bracket:
            raise ValueError("missing ']' in host")
        inner = inner[1:].replace("%25", "")
    elif ":" in host:
        inner, colon, port = host.rpartition(":")
        port = colon + port
    if not _PORT.fullmatch(port) or not _HOST.fullmatch(inner):
        raise ValueError(f"invalid host or port {host!r}")
    return unquote(host) if not host.startswith("[") else host.replace("%25", "%")


def _unescaped(text: str) -> str:
    if _ESCAPES.search(text):
        raise ValueError(f"invalid URL escape in {text!r}")
    return unquote(text)


def _port(value: Opaque) -> str:
    found = re.search(r":([0-9]*)$", str(value["host"]))
    return found[1] if found else ""


def _hostname(value: Opaque) -> str:
    host = re.sub(r":[0-9]*$", "", str(value["host"]))
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def _escaped_path(value: Opaque) -> str:
    path = str(value["path"])
    return path if path == "*" or _PATH.fullmatch(path) else quote(unquote(path), safe=_SAFE)


def _query(value: Opaque) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pair in str(value["query"]).split("&"):
        if pair and ";" not in pair and not _ESCAPES.search(pair):
            key, _, held = pair.partition("=")
            found.setdefault(unquote_plus(key), []).append(unquote_plus(held))
    return found


def _part(function: str, overload: str, field: str) -> CelFunction:
    return CelFunction(
        id=overload,
        function=function,
        parameters=(URL,),
        gives="string",
        make=lambda value: value[field],
    )


FUNCTIONS: Sequence[CelFunction] = (
    CelFunction(
        id="string_to_url",
        function="url",
        parameters=("string",),
        gives=URL,
        make=read_url,
        member=False,
    ),
    CelFunction(
        id="is_url_string",
        function="isURL",
        parameters=("string",),
        gives="bool",
        make=succeeds(lambda text: _split(text, fragment=False)),
        member=False,
    ),
    _part("getScheme", "url_get_scheme", "scheme"),
    _part("getHost", "url_get_host", "host"),
    CelFunction(
        id="url_get_hostname",
        function="getHostname",
        parameters=(URL,),
        gives="string",
        make=_hostname,
    ),
    CelFunction(
        id="url_get_port", function="getPort", parameters=(URL,), gives="string", make=_port
    ),
    CelFunction(
        id="url_get_escaped_path",
        function="getEscapedPath",
        parameters=(URL,),
        gives="string",
        make=_escaped_path,
    ),
    CelFunction(
        id="url_get_query",
        function="getQuery",
        parameters=(URL,),
        gives="map(string, list(string))",
        make=_query,
    ),
)
