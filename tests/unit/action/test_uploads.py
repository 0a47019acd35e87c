"""Findings for code scanning, and where reports are kept, as the action's second step does it."""

import base64
import gzip
import importlib.util
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.doubles.serving import serving
from tests.unit.action.stage import ACTION

INPUTS = {"SARIF_REF": "refs/pull/7/head", "SARIF_COMMIT": "c" * 40, "TOKEN": "ghs_secret"}


@pytest.fixture(scope="module")
def run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run", ACTION / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Scanning(BaseHTTPRequestHandler):
    """Keeps what is sent, and answers as told."""

    answer = 202
    seen: list[tuple[str, str, dict[str, Any]]] = []  # noqa: RUF012 - of the class, as is `answer`

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.seen.append((self.path, self.headers["Authorization"], body))
        self.send_response(self.answer)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        del format, args


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Scanning]]:
    Scanning.seen, Scanning.answer = [], 202
    with serving(Scanning) as port:
        monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("GITHUB_REPOSITORY", "acme/placement")
        yield Scanning


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    (tmp_path / "findings.sarif").write_text('{"runs": [{"results": []}]}')
    return tmp_path


def test_findings_are_uploaded_for_their_pull_request(
    run: ModuleType, github: type[Scanning], reports: Path
) -> None:
    assert run.upload(INPUTS, ["--cluster", "iberia"], reports) == ""
    ((path, token, body),) = github.seen
    assert path == "/repos/acme/placement/code-scanning/sarifs"
    assert token == "Bearer ghs_secret"
    assert (body["ref"], body["commit_sha"]) == ("refs/pull/7/head", "c" * 40)
    sent = json.loads(gzip.decompress(base64.b64decode(body["sarif"])))
    assert sent["runs"] == [{"results": [], "automationDetails": {"id": "gitbot/iberia/"}}]


@pytest.mark.parametrize("code", [403, 404])
def test_what_github_does_not_allow_is_skipped_with_a_word(
    run: ModuleType, github: type[Scanning], reports: Path, code: int
) -> None:
    github.answer = code
    said = run.upload(INPUTS, [], reports)
    assert said.startswith(
        f"::notice title=gitbot code scanning::skipped, GitHub answered {code} ("
    )
    assert said.count("\n") == 1


def test_a_fork_is_skipped_with_a_word_and_nothing_is_sent(
    run: ModuleType, github: type[Scanning], reports: Path
) -> None:
    said = run.upload({**INPUTS, "SARIF_REF": ""}, [], reports)
    assert "a pull request of a fork" in said
    assert run.upload({}, [], reports) == run.upload(INPUTS, [], reports / "none") == ""
    assert github.seen == []


def test_comments_link_the_run_only_where_its_reports_are_kept(
    run: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for key, value in {
        "SERVER_URL": "https://github.example",
        "REPOSITORY": "acme/placement",
        "RUN_ID": "7",
    }.items():
        monkeypatch.setenv(f"GITHUB_{key}", value)
    address = "https://github.example/acme/placement/actions/runs/7#artifacts"
    kept = run.report_environment({"KEEP_REPORTS": "true"}, tmp_path)
    assert kept["GITBOT_REPORT_ADDRESS"] == address
    assert kept["GITBOT_REPORTS"] == str(tmp_path)
    assert "GITBOT_REPORT_ADDRESS" not in run.report_environment({}, tmp_path)
    monkeypatch.setattr(run, "__file__", "/w/_actions/acme/gitbot/v1/.github/actions/gitbot/run.py")
    docs = run.report_environment({}, tmp_path)["GITBOT_DOCS"]
    assert docs == "https://github.example/acme/gitbot/blob/v1/docs/reference"
