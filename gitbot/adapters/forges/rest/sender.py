"""Sends one request to the API of a server that its owner runs, with urllib.

`rest` repeats reads, bounds them, and resolves lost answers, so a library would add no more than
the request itself. python-gitlab repeats a write that was refused for too many requests, and hides
whether one whose answer was lost was done.
"""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlencode

from gitbot.adapters.bounded_http_body import Body, whole
from gitbot.adapters.forges.rest.api import TIMEOUT
from gitbot.adapters.one_address import opener
from gitbot.errors import ForgeError

LARGEST = 64 * 1024 * 1024  # bytes of a response


def sender(
    name: str, address: str, secret: Mapping[str, str]
) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """A function that sends one request. Raises OSError for a lost answer, ForgeError otherwise.

    `secret` is the header with the token. No redirect gets it.
    """

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
        for key, value in secret.items():
            request.add_unredirected_header(key, value)
        try:
            with opener().open(request, timeout=TIMEOUT) as answer:
                return answer.status, dict(answer.headers), _text(answer)
        except urllib.error.HTTPError as error:
            with error:
                if 300 <= error.code < 400 and error.code != 304:
                    hint = "set forge.address and forge.repository to what the server has now"
                    raise ForgeError(f"{name} sends gitbot on ({error.code})", hint=hint) from None
                return error.code, dict(error.headers), _text(cast("Body", error))
        except http.client.HTTPException as error:
            raise ConnectionError(type(error).__name__) from error
        except ValueError as error:  # a path or header that HTTP cannot carry
            raise ForgeError(f"{name} cannot be asked: {type(error).__name__}") from error

    return send


def _text(body: Body) -> str:
    return whole(body, most=LARGEST, seconds=TIMEOUT).decode("utf-8", "replace")
