"""Where files live: intents in `intents/<cluster>/**/*.yaml`, proposals in its `gitbot/`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gitbot.documents import TOP, Report, finding_at, shown
from gitbot.model.findings import Finding, Severity

PROPOSALS = "gitbot"
_PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9_.-]+/)*[A-Za-z0-9_.-]+\.yaml").fullmatch


def proposal_file(cluster: str, concern: str) -> str:
    return f"intents/{cluster}/{PROPOSALS}/{concern}.yaml"


def is_proposal_file(file: str, cluster: str) -> bool:
    """Whether only the bot's pull requests write a file."""
    return file.startswith(f"intents/{cluster}/{PROPOSALS}/")


def is_below(file: str, cluster: str) -> bool:
    """Whether a file is in the folder of a cluster, or has its name."""
    return f"{file}/".startswith(f"intents/{cluster}/")


def is_ours(file: str) -> bool:
    """Whether a file below `intents/<cluster>/` claims to be an intent. A README does not."""
    return file.lower().rstrip(" .").endswith((".yaml", ".yml", ".json"))


def is_read(file: str) -> bool:
    """Whether gitbot reads a file there: an intent, or a calendar that a freeze may name."""
    return is_ours(file) or file.endswith(".ics")


def check_unread(files: Mapping[str, bytes], cluster: str) -> Iterator[Finding]:
    """What nobody reads although it looks like intents. A README does not."""
    for file, data in files.items():
        if file == f"intents/{cluster}":
            message = f"found a file, expected the folder with the intents of {cluster}"
            yield _finding(file, message, f"move it to {file}/NAME.yaml")
        elif not is_read(file) and _begins(data).startswith((b"apiVersion:", b"kind:")):
            message = "found a document in a file that is not read, expected the ending .yaml"
            found = _finding(file, message, "rename the file, or move it elsewhere")
            yield replace(found, severity=Severity.WARNING)


def _begins(data: bytes) -> bytes:
    """The first line that says something."""
    lines = data[:4096].removeprefix(b"\xef\xbb\xbf").splitlines()
    return next((line for line in lines if line.strip(b" \t-") and line[:1] != b"#"), b"")


def check_file_name(file: str) -> Finding | None:
    """What is wrong with the name of a file below `intents/<cluster>/`."""
    if _PLAIN_NAME(file) is not None:
        return None
    if not file.endswith(".yaml"):
        ending = "." + file.rpartition("/")[2].rpartition(".")[2]
        message = f"found the ending {shown(ending)}, expected .yaml"
        return _finding(file, message, "rename the file; only .yaml files are read")
    steps = file.split("/")
    if not file.isprintable() or any(step != step.strip() or not step for step in steps):
        message = (
            f"found the path {shown(file)}, expected no control characters and no outer spaces"
        )
        return _finding(file, message, "rename the file")
    return None


def check_twins(files: Iterable[str]) -> list[Finding]:
    """Files whose names differ by case or Unicode form only: some checkouts hold one of them."""
    first: dict[str, str] = {}
    findings = []
    for file in sorted(files):
        other = first.setdefault(unicodedata.normalize("NFC", file).casefold(), file)
        if other != file:
            findings.append(
                _finding(
                    file,
                    f"found {shown(file)} beside {shown(other)}, expected names that differ by"
                    " more than case or Unicode form",
                    "rename one of the two: many file systems keep only one of them",
                )
            )
    return findings


def check_place(report: Report, kind: str, cluster: str) -> None:
    """Proposals belong in `gitbot/`, everything else outside it."""
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
    return finding_at(file, TOP, "intents/file-name", message, hint=hint)
