"""Webhooks: where notices for people go. gitbot works without them."""

from __future__ import annotations

from typing import Protocol


class Notifier(Protocol):
    """Sends one notice to one webhook."""

    def send(self, name: str, key: str, body: bytes) -> None:
        """POST a JSON body to the webhook of that name in the configuration, within seconds.

        `key` is the same each time that the same notice is sent. Raises NoticeError if it did not
        arrive for certain; it may have.
        """
