import json
from dataclasses import replace

from junitparser import JUnitXml
from sarif_pydantic import Sarif  # type: ignore[import-untyped]

from gitbot.adapters.working_tree import ShippedTexts
from gitbot.model.plan.findings import Finding, Severity
from gitbot.reports import finding_formats as report

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
    text = report.sarif(BOTH, docs=DOCS, version="0.1.0")
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
    assert run["results"][0]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": ".gitbot.yaml"},
        "region": {"startLine": 1, "startColumn": 1},
    }


MEANINGS = ShippedTexts().meanings()["findings.tsv"]
DOCS = "https://github.example/acme/gitbot/blob/main/docs/reference"


def test_every_rule_of_sarif_has_title_description_help_and_link() -> None:
    hold = replace(ERROR, code="plan/no-feasible-node")
    text = report.sarif((ERROR, WARNING, hold), meanings=MEANINGS, docs=f"{DOCS}/")
    Sarif.model_validate_json(text)
    field, held, policy = json.loads(text)["runs"][0]["tool"]["driver"]["rules"]
    place = f"{DOCS}/findings.md#intents-what-documents-say"
    assert field == {
        "id": "intents/unknown-field",
        "name": "UnknownField",
        "shortDescription": {"text": "Unknown field."},
        "fullDescription": {"text": "A field that the kind does not have."},
        "help": {
            "text": f"Unknown field: a field that the kind does not have. All codes: {place}.",
            "markdown": "**Unknown field**: a field that the kind does not have.\n\n"
            f"[All codes]({place})",
        },
        "helpUri": place,
    }
    assert held["helpUri"] == f"{DOCS}/plan.md#holds"
    assert policy["fullDescription"]["text"].startswith("The message of a policy about a plan; ")
    here = "file:///opt/gitbot/docs/reference"
    unknown = report.sarif((replace(ERROR, code="x/new-thing"),), meanings=MEANINGS, docs=here)
    (rule,) = json.loads(unknown)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["helpUri"] == f"{here}/findings.md"
    assert f"({here}/findings.md)" in rule["help"]["markdown"]
    assert "`gitbot help x/new-thing` says it" in rule["help"]["text"]


def test_sarif_fingerprints_survive_a_moved_line_and_are_never_shared() -> None:
    moved = replace(ERROR, line=99)

    def prints(*findings: Finding) -> list[str]:
        run = json.loads(report.sarif(findings, docs=DOCS))["runs"][0]
        return [item["partialFingerprints"]["primaryLocationLineHash"] for item in run["results"]]

    assert prints(ERROR) == prints(moved)
    assert len(set(prints(ERROR, ERROR, WARNING))) == 3


def test_sarif_shows_errors_first_where_they_are_too_many() -> None:
    many = [replace(WARNING, message=f"warning {number}") for number in range(report.MAX_RESULTS)]
    results = json.loads(report.sarif([*many, ERROR], docs=DOCS))["runs"][0]["results"]
    assert len(results) == report.MAX_RESULTS + 1
    assert [item["level"] for item in results].count("error") == 1
    assert results[-1]["message"]["text"].startswith("1 more findings; code scanning shows")


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
    Sarif.model_validate_json(report.sarif((), docs=DOCS))
