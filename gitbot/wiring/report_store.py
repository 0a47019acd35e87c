"""Reports of the plans that a run shows, kept in a folder, and the address that comments link."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.adapters.working_tree import ShippedTexts

if TYPE_CHECKING:
    from gitbot.reports import Diff


def report_keeper(cluster: str) -> Callable[[str, Diff], str] | None:
    """What keeps the page of a plan under a name and returns its address; None without a folder.

    `GITBOT_REPORTS` names the folder, `GITBOT_REPORT_ADDRESS` where people find it. A page that
    cannot be written has no address: nothing waits for it.
    """
    folder, address = (os.environ.get(f"GITBOT_{key}", "") for key in ("REPORTS", "REPORT_ADDRESS"))
    if not folder:
        return None

    def keep(name: str, diff: Diff) -> str:
        from gitbot.reports.html.page import html  # noqa: PLC0415 - jinja2 only where a plan is shown

        file = re.sub("[^0-9A-Za-z._-]+", "-", f"{cluster}-{name}.html")
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            page = html(diff, templates=ShippedTexts().templates())
            (Path(folder) / file).write_text(page, encoding="utf-8")
        except OSError:
            return ""
        return address

    return keep
