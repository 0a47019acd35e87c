"""No secret reaches anything that is printed, whatever goes wrong on the way to GitHub."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitbot.cli.main import main
from tests.contracts.forges import StepClock
from tests.doubles.github import GitHub, Server

CANARY = "canary7c1e55b0d1"
CONFIGURATION = """apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
spec:
  clusters: [{name: prod, timeZone: Europe/Madrid}]
  forge: {type: github, repository: acme/placement}
  mode: Enforce
"""
PEM = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----"
NAME = "acme/placement"
COMMANDS = (
    ("propose",),
    ("doctor", "--without-cluster", "-o", "json"),
    ("comment", "--issue", "1", "--comment", "1"),
    ("check", "--pull-request", "1", "--publish"),
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    service = GitHub(tmp_path / "service", clock=StepClock())
    service.add_repository(NAME)
    with Server(service) as made:
        yield made


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    (folder / ".gitbot.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "intents" / "prod").mkdir(parents=True)
    return folder


SECRETS: list[dict[str, str]] = [
    {"GITHUB_TOKEN": f"ghs_{CANARY}"},
    {"GITHUB_TOKEN": f"ghp_{CANARY}"},
    {"GITBOT_GITHUB_APP_ID": "7", "GITBOT_GITHUB_APP_KEY": PEM},
    {"GITBOT_GITHUB_APP_ID": "7", "GITBOT_GITHUB_APP_KEY": CANARY},
]


def assert_no_secret(code: int, printed: str) -> None:
    assert code in (1, 2), printed
    assert "this is a bug" not in printed
    assert CANARY not in printed
    assert printed


@pytest.mark.parametrize("secret", SECRETS, ids=["job", "person", "app", "no key"])
@pytest.mark.parametrize("command", COMMANDS, ids=[item[0] for item in COMMANDS])
def test_a_refused_secret_is_not_printed(
    clone: Path,
    server: Server,
    capfd: pytest.CaptureFixture[str],
    secret: dict[str, str],
    command: tuple[str, ...],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(clone)
        for name, value in {**secret, "GITHUB_API_URL": server.api, "NO_COLOR": "1"}.items():
            patch.setenv(name, value)
        with pytest.raises(SystemExit) as ended:
            main(list(command))
    assert_no_secret(int(ended.value.code or 0), "".join(capfd.readouterr()))


@pytest.mark.parametrize("secret", SECRETS[1:3], ids=["person", "app"])
def test_nor_by_a_process_with_its_own_logging(
    clone: Path, server: Server, secret: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gitbot", "doctor", "--without-cluster"],
        cwd=clone,
        env={**os.environ, **secret, "GITHUB_API_URL": server.api, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert_no_secret(done.returncode, done.stdout + done.stderr)


def test_the_log_of_the_client_masks_what_signs(
    caplog: pytest.LogCaptureFixture, server: Server
) -> None:
    from gitbot.adapters.forges.github.credentials import (  # noqa: PLC0415 - heavy
        CredentialKind,
        Credentials,
    )
    from gitbot.adapters.forges.github.forge import GitHubForge  # noqa: PLC0415
    from gitbot.errors import GitbotError  # noqa: PLC0415

    credentials = Credentials(
        kind=CredentialKind.CLASSIC, api_url=server.api, token=f"ghp_{CANARY}"
    )
    forge = GitHubForge.of(credentials, repository=NAME, base_branch="main", clock=StepClock())
    with caplog.at_level(logging.DEBUG), pytest.raises(GitbotError) as caught:
        forge.list_pulls()
    assert CANARY not in caplog.text + str(caught.value) + repr(caught.value.__cause__)
