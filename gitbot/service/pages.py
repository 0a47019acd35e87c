"""What each page answers now: the metrics, the probes, and the pages of the cluster."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address

from gitbot.service.wake_calls import WakeCalls

ALIVE = 1200  # seconds; an older heartbeat means that the loop hangs
_PLAIN = "text/plain; charset=utf-8"
_OTHER_NAME = b"ask for localhost; under another name, gitbot needs `serve --pages`\n"
_TYPES = {".html": "text/html; charset=utf-8", ".json": "application/json"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAnswer:
    """One response: its HTTP status, the type of its body, and the body."""

    status: int
    content_type: str
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedPages:
    """`health` is the line of the health file, `beaten` the age of the heartbeat in seconds.

    `metrics` gives the type and the text of the last exposition. `site` has the content of a file
    of the pages by its path, None if there is no such file, and "" if there is none yet. All are
    asked from other threads than the one that changes them, so each must give a finished value.
    `calls` judges those of the forge; None: nobody may call. With `this_machine_only` the pages
    answer only to the names of this machine, so that no page of another site, whose name its owner
    points here, can read them in a browser.
    """

    health: Callable[[], str]
    beaten: Callable[[], float]
    metrics: Callable[[], tuple[str, bytes]]
    site: Callable[[str], bytes | None]
    calls: WakeCalls | None = None
    this_machine_only: bool = False

    def answer(self, path: str, host: str) -> PageAnswer | None:
        """None for a page that does not exist. `host` is the header: a name, and perhaps a port."""
        match plain := path.partition("?")[0]:
            case "/metrics":
                kind, body = self.metrics()
                return PageAnswer(status=200, content_type=kind, body=body)
            case "/healthz":
                age = self.beaten()
                said = f"ok: heartbeat {age:.0f} s ago, at most {ALIVE}\n"
                return _plain(said if age <= ALIVE else said.replace("ok", "hangs"), age <= ALIVE)
            case "/readyz":
                line = self.health()
                return _plain(line, line.split(maxsplit=1)[:1] == ["ok"])
            case _ if self.this_machine_only and not _is_this_machine(host):
                return PageAnswer(status=403, content_type=_PLAIN, body=_OTHER_NAME)
            case _:
                return self._page(plain.removeprefix("/"))

    def _page(self, path: str) -> PageAnswer | None:
        file = f"{path}index.html" if path == "" or path.endswith("/") else path
        body = self.site(file)
        if body is None:
            return None
        if not body:
            return _plain("starting: no pass has ended yet\n", good=False)
        kind = _TYPES[file[file.rindex(".") :]]
        return PageAnswer(status=200, content_type=kind, body=body)


def _is_this_machine(host: str) -> bool:
    name = re.sub(r":\d*$", "", host).removeprefix("[").removesuffix("]")
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def _plain(text: str, good: bool) -> PageAnswer:
    return PageAnswer(status=200 if good else 503, content_type=_PLAIN, body=text.encode())
