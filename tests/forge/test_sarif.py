"""SARIF as Microsoft's validator reads it with GitHub's ingestion rules."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gitbot.adapters.working_tree import ShippedTexts
from gitbot.model.plan.findings import Finding
from gitbot.reports.finding_formats import MAX_RESULTS, sarif
from tests.forge.npm import packages
from tests.unit.reports.test_findings import BOTH, ERROR, WARNING

pytestmark = pytest.mark.forge
# No address of a home page: the project names none.
WAIVED = ("SARIF2005",)
MEANINGS = ShippedTexts().meanings()["findings.tsv"]
DOCS = "https://github.example/acme/gitbot/blob/main/docs/reference"


def complaints(text: str, folder: Path) -> list[str]:
    """What the validator says, but for the waived rules."""
    program = packages()["@microsoft/sarif-multitool-linux"].folder / "Sarif.Multitool"
    program.chmod(0o755)
    file = folder / "findings.sarif"
    file.write_text(text, encoding="utf-8")
    finished = subprocess.run(
        [program, "validate", file, "--rule-kind", "Sarif;GHAS"],
        env={"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "HOME": str(folder),
             "DOTNET_BUNDLE_EXTRACT_BASE_DIR": str(folder / "bundle")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Analysis completed successfully." in finished.stdout, finished.stdout + finished.stderr
    lines = [
        line for line in finished.stdout.splitlines() if ": error " in line or ": warn" in line
    ]
    return [line for line in lines if not any(rule in line for rule in WAIVED)]


@pytest.mark.parametrize(
    "findings",
    [
        (),
        BOTH,
        (ERROR, ERROR, replace(ERROR, file="intents/a b/ü.yaml", line=1, column=0)),
        tuple(replace(WARNING, message=f"warning {number}") for number in range(MAX_RESULTS + 1)),
    ],
    ids=["none", "both", "odd-files", "too-many"],
)
def test_github_takes_it(findings: tuple[Finding, ...], tmp_path: Path) -> None:
    text = sarif(findings, version="0.1.0", meanings=MEANINGS, docs=DOCS)
    assert complaints(text, tmp_path) == []


def test_github_takes_links_to_pages_of_the_installed_package(tmp_path: Path) -> None:
    here = ShippedTexts().reference()
    assert here.startswith("file:///")
    assert complaints(sarif(BOTH, meanings=MEANINGS, docs=here), tmp_path) == []


def test_the_validator_would_refuse_what_github_refuses(tmp_path: Path) -> None:
    broken = sarif(BOTH, docs=DOCS).replace('"help"', '"halp"')
    assert any("GH2012" in line for line in complaints(broken, tmp_path))
