from dataclasses import replace

from gitbot.model.plan.findings import Finding, Severity
from gitbot.reports import refusal

ERROR = Finding(
    code="intents/unknown-field",
    severity=Severity.ERROR,
    message="found @alice | </details>",
    file="intents/iberia/db.yaml",
    line=3,
    column=1,
    key_path="spec.x",
    hint="remove it",
)


def test_says_what_is_wrong_and_that_nothing_is_approved() -> None:
    assert refusal("iberia", (ERROR,)) == (
        "<!-- gitbot:plan:iberia -->\n"
        "❌ gitbot on `iberia`: **nothing was planned**\n\n"
        "**1 error**; nothing is approved by merging this\n\n"
        "- `intents/iberia/db.yaml:3:1` spec.x: found @&#8203;alice &#124; &#60;/details&#62;; "
        "remove it\n"
        "\n```console\ngitbot lint\n```\n"
    )


def test_thousands_of_errors_fit() -> None:
    findings = [replace(ERROR, line=number, message="x" * 200) for number in range(1, 3000)]
    text = refusal("iberia", findings)
    assert len(text.encode()) <= 65_536
    assert "**2999 errors**" in text
    assert "more findings left out here" in text
    assert text.endswith("gitbot lint\n```\n")
