"""Requests to GitLab's REST API, version 4."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from gitbot.adapters.forges.rest.api import RestApi
from gitbot.adapters.forges.rest.budget import RequestBudget
from gitbot.adapters.forges.rest.refusals import RestRefusal, said_in
from gitbot.adapters.forges.rest.sender import sender
from gitbot.ports.clock import Clock


class GitLabApi(RestApi):
    """One account's access to one GitLab."""

    @classmethod
    def of(cls, web: str, token: str, *, clock: Clock) -> GitLabApi:
        """`web` is the server's address, without a slash at the end.

        Personal, group and project tokens all go into the same header.
        """
        return cls(
            name="GitLab",
            setting="forge.address",
            clock=clock,
            send=sender("GitLab", f"{web}/api/v4", {"PRIVATE-TOKEN": token}),
            refused=refused,
            page_size="per_page",
            budget=RequestBudget("GitLab"),
        )


def encoded(path: str) -> str:
    """One step of an address: GitLab takes `group/name` for a number, with its slashes encoded."""
    return quote(path, safe="")


def refused(what: str, status: int, _headers: Mapping[str, str], body: str) -> RestRefusal:
    said = said_in(body)
    return RestRefusal(
        f"GitLab refused to {what} ({status}): {said or 'no reason given'}",
        status=status,
        said=said,
        hint=_HINTS.get(status, ""),
    )


_HINTS = {
    401: "the token is wrong, revoked or expired, or its account may not do this",
    403: "the token or its account lacks a right; `gitbot doctor` lists what it may do",
    404: "it does not exist, or the token's account may not see it",
}
