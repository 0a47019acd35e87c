"""Notices as text to mail, Slack, Teams, Matrix and what else apprise knows (extra `notify`)."""

from __future__ import annotations

import json
import logging
from threading import Thread

SECONDS = 10  # the next pass waits for it; a mail server takes longer than a webhook


def send_text(url: str, body: bytes) -> str:
    """Send the `text` of a notice to an address of apprise; why that failed, or "".

    The reason stands after the name of the variable with the address. It never quotes the address,
    which is a secret. A notice of which it says that nothing answered may arrive later.
    """
    try:
        import apprise  # noqa: PLC0415 - heavy, and nobody needs it who has webhooks only
    except ImportError:
        return "is for apprise, which is not installed: pip install 'kubevirt-gitbot[notify]'"
    logging.getLogger(apprise.__name__).disabled = True  # its lines quote the address
    asset = apprise.AppriseAsset(app_id="gitbot", app_desc="", app_url="", async_mode=False)
    target = apprise.Apprise.instantiate(url, asset=asset)
    if target is None:
        return "is neither http nor an address that apprise understands"
    notice = json.loads(body)
    sent: list[bool] = []

    def send() -> None:
        title = f"gitbot {notice['cluster']}: {notice['event']}"
        plain = apprise.NotifyFormat.TEXT
        sent.append(bool(target.notify(notice["text"], title=title, body_format=plain)))

    # apprise bounds each step of a conversation, not the whole
    sending = Thread(target=send, daemon=True)
    sending.start()
    sending.join(SECONDS)
    if sending.is_alive():
        return f"gave no answer within {SECONDS} s"
    return "" if sent == [True] else "does not take the notice"
