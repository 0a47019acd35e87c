"""Opens the configured address only: urllib would send a token to where a server redirects, too."""

from __future__ import annotations

import urllib.request
from typing import Any

from gitbot.model.text.wording import shortened


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def no_answer(error: Exception) -> str:
    """Why a service gave no answer, in a few words."""
    return shortened(str(getattr(error, "reason", error) or type(error).__name__), 200)


def opener() -> urllib.request.OpenerDirector:
    """Asks through the proxy that the environment names now."""
    return urllib.request.build_opener(_NoRedirects)
