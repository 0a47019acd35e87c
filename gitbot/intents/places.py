"""Which file holds what: intents in `intents/<cluster>/**/*.yaml`, proposals in its `gitbot/`."""

from __future__ import annotations

import re

from gitbot.documents.decoding import Report
from gitbot.documents.positions import shown
from gitbot.documents.text import refused_in
from gitbot.model.findings import Finding, Severity

PROPOSALS = "gitbot"
_PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+\.yaml").fullmatch


def proposal_file(cluster: str, concern: str) -> str:
    """The file of the proposal of a concern."""
    return f"intents/{cluster}/{PROPOSALS}/{concern}.yaml"


def is_proposal_file(file: str, cluster: str) -> bool:
    """Whether a file lies where only the bot's pull requests write."""
    return file.startswith(f"intents/{cluster}/{PROPOSALS}/")


def is_ours(file: str) -> bool:
    """Whether a file below `intents/<cluster>/` claims to be an intent, as a README does not."""
    return file.lower().rstrip(" .").endswith((".yaml", ".yml", ".json"))


def check_file_name(file: str) -> Finding | None:
    """What is wrong with the name of a file below `intents/<cluster>/`."""
    if _PLAIN_NAME(file) is not None:
        return None
    if not file.endswith(".yaml"):
        ending = "." + file.rpartition("/")[2].rpartition(".")[2]
        message = f"found the ending {shown(ending)}, expected .yaml"
        return _finding(file, message, "rename the file; only .yaml files are read")
    steps = file.split("/")
    if refused_in(file) is not None or any(step != step.strip() or not step for step in steps):
        message = (
            f"found the path {shown(file)}, expected no control characters and no outer spaces"
        )
        return _finding(file, message, "rename the file")
    return None


def check_place(report: Report, kind: str, cluster: str) -> None:
    """Proposals stand in `gitbot/`, everything else outside of it."""
    inside = is_proposal_file(report.file, cluster)
    if inside and kind != "PlacementProposal":
        report.at_value(
            ("kind",),
            "place",
            f"found {kind} in {PROPOSALS}/, expected PlacementProposal",
            f"move the file out of {PROPOSALS}/, which belongs to the bot's pull requests",
        )
    if kind == "PlacementProposal" and not inside:
        report.at_value(
            ("kind",),
            "place",
            f"found PlacementProposal, expected it in intents/{cluster}/{PROPOSALS}/ only",
            "only the bot's pull requests write proposals",
        )


def _finding(file: str, message: str, hint: str) -> Finding:
    return Finding(
        code="intents/file-name",
        severity=Severity.ERROR,
        message=message,
        file=file,
        line=1,
        column=1,
        hint=hint,
    )
