from __future__ import annotations

import json

from junitparser import JUnitXml
from sarif_pydantic import Sarif  # type: ignore[import-untyped]

from gitbot.model.findings import Finding, Severity
from gitbot.reports import findings as report

ERROR = Finding(
    code="intents/unknown-field",
    severity=Severity.ERROR,
    message="found `zoone`, expected one of zone, node",
    file="intents/iberia/db, 1.yaml",
    line=12,
    column=5,
    key_path="spec.target.zoone",
    hint="did you mean `zone`?",
)
WARNING = Finding(
    code="policy/age", severity=Severity.WARNING, message="50 % \x1b[31mred\n::error::x"
)
BOTH = (WARNING, ERROR)


def test_text_is_one_inert_line_each_in_order_of_place() -> None:
    assert report.text(BOTH) == (
        "-: 50 % U+001B[31mred ::error::x [warning policy/age]\n"
        "intents/iberia/db, 1.yaml:12:5: spec.target.zoone: found `zoone`, expected one of "
        "zone, node; did you mean `zone`? [error intents/unknown-field]\n"
    )


def test_json_leaves_out_what_is_not_known() -> None:
    document = json.loads(report.json_findings(BOTH))
    assert document["kind"] == "FindingList"
    assert document["items"][0] == {
        "code": "policy/age",
        "severity": "warning",
        "message": WARNING.message,
    }
    assert document["items"][1]["keyPath"] == "spec.target.zoone"


def test_sarif_is_valid_and_says_where() -> None:
    text = report.sarif(BOTH, version="0.1.0")
    Sarif.model_validate_json(text)
    run = json.loads(text)["runs"][0]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [
        "intents/unknown-field",
        "policy/age",
    ]
    result = run["results"][1]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == (
        "intents/unknown-field",
        0,
        "error",
    )
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "intents/iberia/db%2C%201.yaml"},
        "region": {"startLine": 12, "startColumn": 5},
    }
    assert "locations" not in run["results"][0]


def test_junit_fails_on_errors_only() -> None:
    suites = JUnitXml.fromstring(report.junit(BOTH).encode())
    assert (suites.tests, suites.failures) == (2, 1)


def test_junit_of_nothing_is_one_passed_case() -> None:
    suites = JUnitXml.fromstring(report.junit(()).encode())
    assert (suites.tests, suites.failures) == (1, 0)


def test_github_commands_are_escaped() -> None:
    assert report.github(BOTH).splitlines() == [
        "::warning title=policy/age::50 %25 U+001B[31mred%0A::error::x",
        (
            "::error file=intents/iberia/db%2C 1.yaml,line=12,col=5,title=intents/unknown-field"
            "::spec.target.zoone: found `zoone`, expected one of zone, node; did you mean `zone`?"
        ),
    ]


def test_nothing_prints_nothing() -> None:
    assert report.text(()) == report.github(()) == ""
    assert json.loads(report.json_findings(()))["items"] == []
    Sarif.model_validate_json(report.sarif(()))
