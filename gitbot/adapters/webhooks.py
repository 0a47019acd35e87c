"""Webhooks: notices as signed JSON over HTTP, or as text through apprise, in a few seconds."""

from __future__ import annotations

import hashlib
import hmac
import os
import urllib.error
import urllib.request
from http.client import HTTPException

from gitbot.adapters.apprise_targets import send_text
from gitbot.adapters.environment import secret
from gitbot.adapters.one_address import opener
from gitbot.errors import NoticeError, UsageError
from gitbot.ports.clock import Clock

SECONDS = 5  # the next pass waits for it
FIRST_REST = 60  # seconds after the first failure; doubled up to LONGEST_REST
LONGEST_REST = 3600
PREFIX = "GITBOT_NOTIFY_"


class Webhooks:
    """Implements ports.notices.Notifier.

    The address and the key of a webhook come from the environment, or from files that it names. One
    that fails is left alone for a while, so that it costs no pass its seconds.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rests: dict[str, tuple[int, int]] = {}  # name -> until when, and how long

    def send(self, name: str, key: str, body: bytes) -> None:
        until, rest = self._rests.get(name, (0, 0))
        if self._clock.now() < until:
            raise NoticeError(f"webhook {name} has failed, and rests")
        try:
            self.post(name, key, body)
        except NoticeError:
            rest = min(rest * 2 or FIRST_REST, LONGEST_REST)
            self._rests[name] = (self._clock.now() + rest, rest)
            raise
        self._rests.pop(name, None)

    @staticmethod
    def post(name: str, key: str, body: bytes) -> str:
        """Send now, rest or not; what was answered, in words. Raises NoticeError."""
        variable = f"{PREFIX}{name.upper().replace('-', '_')}"
        url, key_of_body = _secret(name, f"{variable}_URL"), _secret(name, f"{variable}_KEY")
        if not url:
            raise NoticeError(
                f"webhook {name}: neither {variable}_URL nor {variable}_URL_FILE is set"
            )
        if not url.startswith(("http://", "https://")):
            why = send_text(url, body)  # mail and chats: apprise knows their protocols
            if why:
                raise NoticeError(f"webhook {name}: {variable}_URL {why}")
            return "sent"
        headers = {"Content-Type": "application/json", "User-Agent": "gitbot"}
        headers["Idempotency-Key"] = key
        if key_of_body:
            signed = hmac.new(key_of_body.encode(), body, hashlib.sha256).hexdigest()
            headers["X-Gitbot-Signature-256"] = f"sha256={signed}"
        try:
            request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 - checked above
            with opener().open(request, timeout=SECONDS) as answer:
                return f"answer {answer.status}"
        except urllib.error.HTTPError as error:
            raise NoticeError(f"webhook {name}: answer {error.code}") from error
        except (OSError, ValueError, HTTPException) as error:
            raise NoticeError(f"webhook {name} does not answer: {_why(error)}") from None


def secret_of_calls() -> str:
    """What the forge signs its own calls with; "" if there is none. Raises UsageError."""
    return secret(os.environ, "GITBOT_WEBHOOK_SECRET")


def _secret(name: str, variable: str) -> str:
    """As `secret`, for a webhook. Raises NoticeError."""
    try:
        return secret(os.environ, variable)
    except UsageError as error:
        raise NoticeError(f"webhook {name}: {error}") from None


def _why(error: Exception) -> str:
    """The kind of an error: its text may quote the address, which is a secret."""
    cause = getattr(error, "reason", error)
    return getattr(cause, "strerror", None) or type(cause).__name__
