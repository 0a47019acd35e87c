"""Requests to Gitea's REST API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitbot.adapters.forges.rest.api import MAX_PAGES, Json, RestApi
from gitbot.adapters.forges.rest.budget import Priority, RequestBudget
from gitbot.adapters.forges.rest.refusals import RestRefusal, said_in
from gitbot.adapters.forges.rest.sender import sender
from gitbot.errors import ForgeError
from gitbot.ports.clock import Clock

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
            send=sender("Gitea", f"{web}/api/v1", {"Authorization": f"token {token}"}),
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
