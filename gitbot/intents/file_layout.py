"""Where files live: intents in `intents/<cluster>/**/*.yaml`, proposals in its `gitbot/`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from gitbot.documents import TOP, Report, finding_at, shown
from gitbot.model.plan.findings import Finding, Severity
from gitbot.model.text.names import API_VERSION

PROPOSALS = "gitbot"
_PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9_.-]*[A-Za-z0-9_-]/)*[A-Za-z0-9_.-]+\.yaml").fullmatch
_GROUP = API_VERSION.partition("/")[0].encode()


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


def is_kustomization(file: str, data: bytes) -> bool:
    """Whether a file beside intents only lists them for Kustomize, and has none itself."""
    name = file.rpartition("/")[2]
    return name in ("kustomization.yaml", "kustomization.yml") and _GROUP not in data


def is_read(file: str) -> bool:
    """Whether gitbot reads a file there: an intent, or a calendar that a freeze may name."""
    return is_ours(file) or file.endswith(".ics")


def check_unread(files: Mapping[str, bytes], cluster: str) -> Iterator[Finding]:
    """Files that look like intents but that gitbot does not read (README files are fine)."""
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
    plain = file.isprintable() and "\\" not in file
    if not plain or any(step != step.strip().rstrip(".") or not step for step in steps):
        message = (
            f"found the path {shown(file)}, expected no control characters, backslashes, outer"
            " spaces or dots at the end of a folder"
        )
        return _finding(file, message, "rename it: some checkouts cannot hold it")
    return None


def check_twins(files: Iterable[str], known: Iterable[str]) -> list[Finding]:
    """Files and folders that differ from another, or a known one, by case or Unicode form only.

    Some checkouts hold one of the two, and what binds one folder does not bind the other.
    """
    first = {_alike(part): part for path in known for part in _parts(path)}
    findings = []
    for file in sorted(files):
        pairs = ((part, first.setdefault(_alike(part), part)) for part in _parts(file))
        part, other = next((pair for pair in pairs if pair[0] != pair[1]), (file, file))
        if part != other:
            findings.append(
                _finding(
                    file,
                    f"found {shown(part)} beside {shown(other)}, expected names that differ by"
                    " more than case or Unicode form",
                    "rename one of the two: many file systems keep only one of them",
                )
            )
    return findings


def _parts(path: str) -> Iterator[str]:
    """A path, and every folder that it is in, from the outermost."""
    steps = path.split("/")
    return ("/".join(steps[:count]) for count in range(1, len(steps) + 1))


def _alike(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def check_place(report: Report, kind: str, cluster: str, *, by_bot: Collection[str]) -> None:
    """Kinds that the bot writes belong in `gitbot/`, everything else outside it."""
    inside = is_proposal_file(report.file, cluster)
    if inside and kind not in by_bot:
        report.at_value(
            ("kind",),
            "place",
            f"found {kind} in {PROPOSALS}/, expected {' or '.join(by_bot)}",
            f"move the file out of {PROPOSALS}/, which belongs to the bot's pull requests",
        )
    if kind in by_bot and not inside:
        report.at_value(
            ("kind",),
            "place",
            f"found {kind}, expected it in intents/{cluster}/{PROPOSALS}/ only",
            "only the bot's pull requests write proposals",
        )


def _finding(file: str, message: str, hint: str) -> Finding:
    return finding_at(file, TOP, "intents/file-name", message, hint=hint)
