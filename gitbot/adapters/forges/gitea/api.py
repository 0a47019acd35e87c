"""Requests to Gitea's REST API, sent with urllib.

`rest` repeats reads, bounds them, and resolves lost answers, so a library would add no more than
the request itself.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import urlencode

from gitbot.adapters.bounded_http_body import Body, whole
from gitbot.adapters.forges.rest.api import MAX_PAGES, TIMEOUT, Json, RestApi
from gitbot.adapters.forges.rest.budget import Priority, RequestBudget
from gitbot.adapters.forges.rest.refusals import RestRefusal, said_in
from gitbot.adapters.one_address import opener
from gitbot.errors import ForgeError
from gitbot.ports.clock import Clock

LARGEST = 64 * 1024 * 1024  # bytes of a response
_PAGE = 50  # Gitea's MAX_RESPONSE_ITEMS by default; a lower one is seen by X-Total-Count


@dataclass(slots=True, kw_only=True)
class GiteaApi(RestApi):
    """One account's access to one Gitea. `web` is its address, without a slash at the end."""

    web: str
    secret: str = field(default="", repr=False)

    @classmethod
    def of(cls, web: str, token: str, *, clock: Clock) -> GiteaApi:
        return cls(
            name="Gitea",
            setting="forge.address",
            web=web,
            secret=token,
            clock=clock,
            send=_sender(f"{web}/api/v1", token),
            refused=refused,
            budget=RequestBudget("Gitea"),
        )

    def pages(
        self,
        what: str,
        path: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        key: str = "",
        priority: Priority = Priority.NORMAL,
    ) -> Iterator[Json]:
        """All items of all pages, by their total count: not all lists link to their next page."""
        assert not key
        seen = 0
        for page in range(1, MAX_PAGES + 1):
            asked = {"limit": _PAGE, "page": page, **(parameters or {})}
            answer = self.get(what, path, parameters=asked, priority=priority)
            items = answer.body
            if not isinstance(items, list):
                raise ForgeError(f"Gitea's answer is not a list, so gitbot could not {what}")
            yield from items
            seen += len(items)
            total = answer.headers.get("x-total-count", "")
            # Without a count, the list has one page, such as the references of a repository.
            if not items or not total.isdecimal() or seen >= int(total):
                return
        raise ForgeError(f"Gitea's answer has more than {MAX_PAGES} pages: could not {what}")


def refused(what: str, status: int, _headers: Mapping[str, str], body: str) -> RestRefusal:
    said = said_in(body)
    return RestRefusal(
        f"Gitea refused to {what} ({status}): {said or 'no reason given'}",
        status=status,
        said=said,
        hint=_HINTS.get(status, ""),
    )


_HINTS = {
    401: "the token is wrong, revoked or expired: make a new one",
    403: "the token or its account lacks a right; `gitbot doctor` lists what it may do",
    404: "it does not exist, or the token's account may not see it",
    423: "the repository is archived: nothing can be written there",
}


def _sender(address: str, token: str) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """A function that sends one request. Raises OSError for a lost answer, ForgeError otherwise."""

    def send(
        verb: str,
        path: str,
        *,
        parameters: Mapping[str, Any],
        headers: Mapping[str, str],
        input: Mapping[str, Any] | None,  # noqa: A002 - as PyGithub names it
    ) -> tuple[int, dict[str, Any], str]:
        query = f"?{urlencode(parameters)}" if parameters else ""
        request = urllib.request.Request(  # noqa: S310 - the scheme is checked before
            f"{address}{path}{query}",
            method=verb,
            data=None if input is None else json.dumps(input).encode(),
            headers={**headers, "User-Agent": "gitbot", "Content-Type": "application/json"},
        )
        request.add_unredirected_header("Authorization", f"token {token}")
        try:
            with opener().open(request, timeout=TIMEOUT) as answer:
                return answer.status, dict(answer.headers), _text(answer)
        except urllib.error.HTTPError as error:
            with error:
                if 300 <= error.code < 400 and error.code != 304:
                    hint = "set forge.address and forge.repository to what the server has now"
                    raise ForgeError(f"Gitea sends gitbot on ({error.code})", hint=hint) from None
                return error.code, dict(error.headers), _text(cast("Body", error))
        except http.client.HTTPException as error:
            raise ConnectionError(type(error).__name__) from error
        except ValueError as error:  # a path or header that HTTP cannot carry
            raise ForgeError(f"Gitea cannot be asked: {type(error).__name__}") from error

    return send


def _text(body: Body) -> str:
    return whole(body, most=LARGEST, seconds=TIMEOUT).decode("utf-8", "replace")
