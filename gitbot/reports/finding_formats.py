"""Findings in every format: text, JSON, SARIF 2.1.0, JUnit XML, GitHub workflow commands.

Findings are printed in the order of `model.plan.findings.sort_key`; the same findings give the same
bytes. Every format escapes for itself.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from gitbot.model.plan.findings import Finding, Severity, sort_key
from gitbot.model.text.canonical import short_digest
from gitbot.model.text.names import CONFIGURATION_FILE
from gitbot.published import FindingList, json_text, published
from gitbot.reports import escape
from gitbot.reports.ansi import PLAIN, SEVERITIES, Paint, Style

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MAX_RESULTS = 5_000
_PAGE = "findings.md"
_RANKS = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def text(findings: Iterable[Finding], paint: Paint = PLAIN) -> str:
    """One line per finding: `file:line:column: key.path: message; hint [severity code]`."""
    return "".join(f"{_line(finding, paint)}\n" for finding in _sorted(findings))


def _line(finding: Finding, paint: Paint) -> str:
    path = f"{finding.key_path}: " if finding.key_path else ""
    message = escape.terminal(f"{path}{_message(finding)}")
    where = paint(escape.terminal(finding.where), Style.STRONG)
    severity = paint(finding.severity, SEVERITIES[finding.severity])
    return f"{where}: {message} [{severity} {finding.code}]"


def json_findings(findings: Iterable[Finding]) -> str:
    return json_text(published({"items": _sorted(findings)}, FindingList))


def sarif(findings: Iterable[Finding], *, docs: str, version: str = "", meanings: str = "") -> str:
    """SARIF 2.1.0 for GitHub's code scanning. Columns count in Unicode code points.

    `meanings` has code, page and meaning in columns, one code a line; `docs` is the address of the
    folder with those pages, on the web or on this machine.

    GitHub refuses a whole file for one result without a place, and for rules without help (SARIF
    Multitool 5.7, rule kind GHAS); it shows at most 5,000 results, so errors come first.
    """
    ordered = sorted(findings, key=lambda finding: (_RANKS[finding.severity], sort_key(finding)))
    shown = sorted(ordered[:MAX_RESULTS], key=sort_key)
    if len(ordered) > len(shown):
        shown.append(_left_out(len(ordered) - len(shown)))
    codes = sorted({finding.code for finding in shown})
    known = _known(meanings)
    rules = [_sarif_rule(code, *_meaning(code, known), docs) for code in codes]
    driver: dict[str, Any] = {"name": "gitbot", "rules": rules}
    if version:
        driver["version"] = version
    prints = _fingerprints(shown)
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [
            _sarif_result(finding, codes.index(finding.code), mark)
            for finding, mark in zip(shown, prints, strict=True)
        ],
    }
    document = {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def explained(code: str, *, meanings: str, docs: str) -> str:
    """What a code means, for a person; "" if nothing of that code is known."""
    known = _known(meanings)
    room, _, _ = code.partition("/")
    if code not in known and f"{room}/*" not in known:
        return ""
    page, meaning = _meaning(code, known)
    own = f"gitbot policy explain {code}\n" if code not in known else ""
    return f"{_title(code).capitalize()} ({code})\n\n{meaning}\n\n{own}{docs}/{page}\n"


def _known(meanings: str) -> Mapping[str, tuple[str, str]]:
    rows = (line.split("\t") for line in meanings.splitlines())
    return {code: (page, meaning) for code, page, meaning in rows}


def _left_out(amount: int) -> Finding:
    return Finding(
        code="reports/left-out",
        severity=Severity.WARNING,
        message=f"{amount} more findings; code scanning shows no more than {MAX_RESULTS}",
        hint="the command line has all (-o json)",
    )


def _meaning(code: str, known: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Page and meaning of a code; what policies say has the names of the policies."""
    room, _, _ = code.partition("/")
    return known.get(code) or known.get(f"{room}/*") or (_PAGE, "a finding of gitbot")


def _sarif_rule(code: str, page: str, meaning: str, docs: str) -> dict[str, Any]:
    title = _title(code).capitalize()
    plain = meaning.replace("`", "")
    address = f"{docs.rstrip('/')}/{page}"
    elsewhere = docs.startswith("file:")  # the file may be read on another machine
    typed = f"`gitbot help {code}` says it on a terminal. " if elsewhere else ""
    return {
        "id": code,
        "name": _title(code).title().replace(" ", ""),
        "shortDescription": {"text": f"{title}."},
        "fullDescription": {"text": f"{plain[:1].upper()}{plain[1:]}."},
        "help": {
            "text": f"{title}: {plain}. {typed}All codes: {address}.",
            "markdown": f"**{title}**: {meaning}.\n\n{typed}[All codes]({address})",
        },
        "helpUri": address,
    }


def _sarif_result(finding: Finding, index: int, fingerprint: str) -> dict[str, Any]:
    path = f"{finding.key_path}: " if finding.key_path else ""
    region = {"startLine": max(1, finding.line), "startColumn": max(1, finding.column)}
    location = {
        "artifactLocation": {"uri": _uri(finding.file or CONFIGURATION_FILE)},
        "region": region if finding.file else {"startLine": 1, "startColumn": 1},
    }
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": str(finding.severity),
        "message": {"text": escape.sarif(f"{path}{_message(finding)}")},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"primaryLocationLineHash": fingerprint},
    }


def _fingerprints(findings: Iterable[Finding]) -> list[str]:
    """One identity per finding that a moved line does not change: hash, colon, count of equals."""
    seen: Counter[str] = Counter()
    prints = []
    for finding in findings:
        said = [finding.code, finding.file, finding.key_path, finding.message]
        digest = short_digest(json.dumps(said), 16)
        seen[digest] += 1
        prints.append(f"{digest}:{seen[digest]}")
    return prints


def _uri(path: str) -> str:
    """A repository path as a relative URI reference (RFC 3986): other bytes percent-encoded."""
    return quote(path, errors="surrogateescape")


def junit(findings: Iterable[Finding]) -> str:
    """JUnit XML: one test case per finding. Errors fail; warnings and notes pass with text."""
    ordered = _sorted(findings)
    failures = sum(finding.severity is Severity.ERROR for finding in ordered)
    counts = {"name": "gitbot", "tests": str(len(ordered) or 1), "failures": str(failures)}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {**counts, "errors": "0", "skipped": "0"})
    for finding in ordered:
        _junit_case(suite, finding)
    if not ordered:
        ET.SubElement(suite, "testcase", {"classname": "gitbot", "name": "no findings"})
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _junit_case(suite: ET.Element, finding: Finding) -> None:
    name = escape.plain(f"{finding.where} {finding.key_path}".strip())
    case = ET.SubElement(suite, "testcase", {"classname": finding.code, "name": name})
    message = escape.plain(_message(finding))
    if finding.severity is Severity.ERROR:
        failure = ET.SubElement(case, "failure", {"type": finding.code, "message": message})
        failure.text = escape.plain(finding.where)
    else:
        ET.SubElement(case, "system-out").text = f"{finding.severity}: {message}"


def github(findings: Iterable[Finding]) -> str:
    """Workflow commands: `::error file=...,line=...,col=...,title=...::message`."""
    return "".join(f"{_command(finding)}\n" for finding in _sorted(findings))


def _command(finding: Finding) -> str:
    fields = {
        "file": finding.file,
        "line": str(finding.line or ""),
        "col": str(finding.column or ""),
        "title": finding.code,
    }
    properties = ",".join(f"{key}={_property(value)}" for key, value in fields.items() if value)
    path = f"{finding.key_path}: " if finding.key_path else ""
    message = _escaped(escape.sarif(f"{path}{_message(finding)}"))
    return f"::{_COMMANDS[finding.severity]} {properties}::{message}"


def _escaped(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _escaped(escape.plain(value)).replace(":", "%3A").replace(",", "%2C")


def _message(finding: Finding) -> str:
    return f"{finding.message}; {finding.hint}" if finding.hint else finding.message


def _title(code: str) -> str:
    return code.rpartition("/")[2].replace("-", " ")


def _sorted(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=sort_key)
