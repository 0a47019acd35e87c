"""`gitbot check --reports DIR`: one check, told in every form that other programs take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gitbot.cli.showing import shown
from gitbot.errors import UsageError

if TYPE_CHECKING:
    from gitbot.workflows.check import CheckResult

# file name -> form of -o
FILES = {
    "comment.md": "markdown",
    "findings.sarif": "sarif",
    "junit.xml": "junit",
    "plan.json": "json",
    "report.html": "html",
}


def write_reports(result: CheckResult, folder: str) -> None:
    """Write all files into the folder, which is made where it is missing. Raises UsageError."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, form in FILES.items():
            (place / name).write_text(shown(result, form, colour=False), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written: {error.strerror}") from error
