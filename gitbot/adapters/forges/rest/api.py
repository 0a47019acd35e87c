"""Requests to a forge's REST API under our own rules; the forge's own room signs and sends them.

Reads are repeated (bounded, and as the forge asks). If the response to a write is lost, gitbot
looks for its result before it sends it again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from gitbot.adapters.authorities import HINT, is_untrusted
from gitbot.adapters.forges.rest.budget import Priority, RequestBudget
from gitbot.adapters.forges.rest.refusals import RestRefusal, Unanswered
from gitbot.errors import ForgeError
from gitbot.ports.clock import Clock

TIMEOUT = 30  # seconds for one response
READS = 5  # attempts of a read
LOOKS = 3  # attempts to find the result of an unanswered write
PAGE = 100  # items a page; a server that gives fewer says where the next page is
MAX_PAGES = 1000
_REMEMBERED = 400  # answers kept for conditional requests
_BROKEN = (500, 502, 503, 504)

Json = Any
Resolve = Callable[[], "Json | None"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestAnswer:
    """A usable response. Names in `headers` are lower case."""

    status: int
    headers: Mapping[str, str]
    body: Json


@dataclass(slots=True, kw_only=True)
class RestApi:
    """One account's access to one forge.

    `send` takes verb, path, parameters, headers and body; it raises OSError for a lost connection,
    and ForgeError for what no repetition mends. `setting` is where a person gives the address, for
    messages; `accept` is the media type of answers, `page_size` the parameter for items a page.
    """

    name: str
    setting: str
    clock: Clock
    send: Callable[..., tuple[int, dict[str, Any], str]]
    refused: Callable[[str, int, Mapping[str, str], str], RestRefusal]
    accept: str = "application/json"
    page_size: str = "limit"
    budget: RequestBudget = field(default_factory=RequestBudget)
    skew: int = 0  # seconds that the forge's clock was ahead of ours at its last response
    sent: int = 0  # requests, repeated ones included
    _etags: dict[str, tuple[str, RestAnswer]] = field(default_factory=dict)

    def get(
        self,
        what: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        priority: Priority = Priority.NORMAL,
    ) -> RestAnswer:
        """Read one thing. Raises RestRefusal with its status, or Unanswered after all tries."""
        key = json.dumps([path, parameters or {}], sort_keys=True)
        known = self._etags.get(key)
        headers = {"If-None-Match": known[0]} if known else {}
        last = "no answer"
        for attempt in range(READS):
            self._wait(priority, write=False)
            try:
                status, got, body = self._ask("GET", path, parameters, headers, None)
            except OSError as error:  # lost connections and timeouts
                self._check_trust(what, error)
                last = type(error).__name__
            else:
                if status == 304 and known:
                    return known[1]
                limited = self.budget.refused(status, got, body, now=self.clock.now())
                if not limited and status not in _BROKEN:
                    return self._remember(key, self._answer(what, status, got, body))
                last = f"{status}"
                if limited:
                    continue  # the budget knows how long to wait
            if attempt < READS - 1:
                self.clock.sleep(2**attempt)
        raise Unanswered(f"{self.name} did not let gitbot {what}: {last}", hint="try again later")

    def pages(
        self,
        what: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        key: str = "",
        priority: Priority = Priority.NORMAL,
    ) -> Iterator[Json]:
        """All items of all pages; `key` names the list if it is inside an object."""
        asked = {self.page_size: PAGE, **(parameters or {})}
        for _ in range(MAX_PAGES):
            answer = self.get(what, path, parameters=asked, priority=priority)
            items = answer.body.get(key) if key and isinstance(answer.body, dict) else answer.body
            if not isinstance(items, list):
                raise ForgeError(f"{self.name}'s answer is not a list, so gitbot could not {what}")
            yield from items
            following = _next(answer.headers.get("link", ""))
            if following is None:
                return
            asked = following
        raise ForgeError(f"{self.name}'s answer has more than {MAX_PAGES} pages: could not {what}")

    def write(
        self,
        what: str,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        resolve: Resolve,
        priority: Priority = Priority.NORMAL,
    ) -> Json:
        """Write once. If the response is lost, `resolve` checks whether the write took effect.

        `resolve` returns what a good response would have contained, or None if it finds nothing.
        After several checks without result the write is sent a second and last time. Raises
        RestRefusal or Unanswered.
        """
        for attempt in (1, 2):
            try:
                return self._write_once(what, verb, path, body, priority)
            except Unanswered:
                found = self._look(resolve)
                if found is not None:
                    return found
                if attempt == 2:
                    raise
        raise Unanswered(f"{self.name} did not let gitbot {what}")

    def _write_once(
        self, what: str, verb: str, path: str, body: Mapping[str, Any] | None, priority: Priority
    ) -> Json:
        for _ in range(READS):  # a refusal for too many requests means that nothing was done
            self._wait(priority, write=True)
            self.budget.wrote(self.clock.now())
            try:
                status, headers, text = self._ask(verb, path, None, {}, body)
            except OSError as error:
                self._check_trust(what, error)
                raise Unanswered(
                    f"no answer came when gitbot asked to {what}: {type(error).__name__}",
                    hint="run again: what was done is found and not done twice",
                ) from error
            if not self.budget.refused(status, headers, text, now=self.clock.now()):
                if status in _BROKEN:
                    raise Unanswered(
                        f"{self.name} broke down ({status}) when asked to {what}",
                        hint="run again: what was done is found and not done twice",
                    )
                return self._answer(what, status, headers, text).body
        raise ForgeError(
            f"{self.name} refuses to {what}: too many requests",
            hint="the next run goes on from here",
        )

    def _check_trust(self, what: str, error: OSError) -> None:
        """Raises ForgeError if nothing was sent because the forge's certificate is not trusted."""
        if is_untrusted(error):
            message = f"{self.name} did not let gitbot {what}: its certificate is not trusted"
            raise ForgeError(message, hint=HINT) from error

    def _look(self, resolve: Resolve) -> Json | None:
        """Read several times: a new object may be listed only seconds later."""
        for look in range(LOOKS):
            self.clock.sleep(1 + look)
            self._etags.clear()
            found = resolve()
            if found is not None:
                return found
        return None

    def _wait(self, priority: Priority, *, write: bool) -> None:
        seconds = self.budget.wait_for(priority, write=write, now=self.clock.now())
        if seconds:
            self.clock.sleep(seconds)

    def _ask(
        self,
        verb: str,
        path: str,
        parameters: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        body: Mapping[str, Any] | None,
    ) -> tuple[int, dict[str, str], str]:
        asked_at = self.clock.now()
        self.sent += 1
        status, got, text = self.send(
            verb,
            path,
            parameters=dict(parameters or {}),
            headers={"Accept": self.accept, **headers},
            input=body,
        )
        lowered = {name.lower(): str(value) for name, value in got.items()}
        self.budget.learn(lowered)
        theirs = date_of(lowered)
        if theirs:
            # A slow response does not mean a wrong clock; Date has whole seconds.
            latest = self.clock.now()
            self.skew = max(0, theirs - latest) + min(0, theirs + 1 - asked_at)
        return status, lowered, text

    def _answer(self, what: str, status: int, headers: Mapping[str, str], body: str) -> RestAnswer:
        if not 200 <= status < 300:
            raise self.refused(what, status, headers, body)
        try:
            value = json.loads(body) if body.strip() else None
        except (ValueError, RecursionError) as error:
            raise Unanswered(
                f"{self.name}'s answer is not JSON, so gitbot could not {what}"
            ) from error
        return RestAnswer(status=status, headers=headers, body=value)

    def _remember(self, key: str, answer: RestAnswer) -> RestAnswer:
        etag = answer.headers.get("etag")
        if etag:
            if len(self._etags) >= _REMEMBERED:
                self._etags.pop(next(iter(self._etags)))
            self._etags[key] = (etag, answer)
        return answer


def date_of(headers: Mapping[str, str]) -> int:
    """The server's time of an answer in seconds UTC; 0 if missing."""
    try:
        return int(parsedate_to_datetime(headers.get("date", "")).timestamp())
    except (TypeError, ValueError):
        return 0


def _next(link: str) -> dict[str, Any] | None:
    for part in link.split(","):
        address, _, relation = part.partition(";")
        if 'rel="next"' in relation:
            return dict(parse_qsl(urlsplit(address.strip(" <>")).query))
    return None
