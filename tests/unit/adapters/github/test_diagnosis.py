"""What `gitbot doctor` finds out about a repository on GitHub, on the double."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gitbot.adapters.forges.github.credentials import CredentialKind, Credentials
from gitbot.adapters.forges.github.forge import GitHubForge
from gitbot.adapters.git.repository import GitRepository
from gitbot.adapters.git.signing import (
    SIGNING_EMAIL,
    SIGNING_KEY,
    SIGNING_KEY_FILE,
    read_signing_key,
)
from gitbot.model.plan.diagnosis import Check, Outcome
from tests.doubles.github import GitHub, Server
from tests.doubles.github.state import Environment, Protection
from tests.unit.adapters.github.scripted import FakeClock

NAME = "acme/placement"
ALL = {
    "contents": "write",
    "pull_requests": "write",
    "issues": "write",
    "checks": "write",
    "statuses": "write",
    "actions": "read",
}
NOW = 1_800_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Clinic:
    """A repository on the double, and what its doctor says to a token."""

    service: GitHub
    server: Server

    def say(self, kind: CredentialKind, token: str) -> dict[str, Check]:
        credentials = Credentials(kind=kind, api_url=self.server.api, token=token, account="me")
        forge = GitHubForge.of(
            credentials, repository=NAME, base_branch="main", clock=FakeClock(NOW)
        )
        return {check.name: check for check in forge.diagnose()}

    def job(self, **less: str) -> dict[str, Check]:
        rights = {**ALL, **less}
        token = self.service.job_token(NAME, {key: to for key, to in rights.items() if to})
        return self.say(CredentialKind.ACTIONS, token)

    def things(self) -> tuple[int, ...]:
        """How much there is: nothing of it may grow."""
        repository = self.service.repository(NAME)
        return (
            len(repository.pulls),
            len(repository.issues),
            len(repository.check_runs),
            len(repository.statuses),
            len(repository.refs),
        )


@contextmanager
def clinic(folder: Path) -> Iterator[Clinic]:
    service = GitHub(folder / "service", clock=FakeClock(NOW))
    repository = service.add_repository(NAME)
    service.add_collaborator(NAME, "ann", "write")
    GitRepository.clone(str(repository.git.directory), folder / "mirror").write_commit(
        branch="main", expected=None, files={"a": b"0\n"}, message="start", time=1
    )
    with Server(service) as server:
        repository.protection["main"] = Protection(reviews=1)
        repository.actions_may_approve = True
        yield Clinic(service=service, server=server)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Clinic]:
    with clinic(tmp_path) as found:
        yield found


def outcomes(checks: dict[str, Check]) -> dict[str, str]:
    return {name: str(check.outcome) for name, check in checks.items()}


def test_a_job_with_all_rights_may_do_everything_and_nothing_is_written(made: Clinic) -> None:
    made.job()  # the service has seen the first commit
    before = made.things()
    found = made.job()
    for name in ("pull-requests", "checks", "statuses", "issues"):
        assert found[f"forge/{name}"].outcome is Outcome.PASS, found[f"forge/{name}"]
    assert made.things() == before


@pytest.mark.parametrize(
    ("right", "name"),
    [
        ("pull_requests", "forge/pull-requests"),
        ("checks", "forge/checks"),
        ("statuses", "forge/statuses"),
        ("issues", "forge/issues"),
    ],
)
def test_a_missing_right_is_named_with_its_fix(made: Clinic, right: str, name: str) -> None:
    found = made.job(**{right: "read"})[name]
    assert found.outcome is Outcome.FAIL
    assert "write" in found.fix


def test_a_personal_token_writes_no_check_runs(made: Clinic) -> None:
    found = made.say(CredentialKind.CLASSIC, made.service.personal_token("ann"))
    assert found["forge/checks"].outcome is Outcome.WARN
    assert "gitbot writes commit statuses" in found["forge/checks"].message
    assert found["forge/token"].outcome is Outcome.WARN


def test_a_wrong_token_ends_the_visit(made: Clinic) -> None:
    found = made.say(CredentialKind.CLASSIC, "ghp_wrong")
    assert list(found) == ["forge/reach"]
    assert "401" in found["forge/reach"].message
    assert "make a new one" in found["forge/reach"].fix


def test_an_environment_that_waits_for_a_person_is_found(made: Clinic) -> None:
    repository = made.service.repository(NAME)
    assert made.job()["forge/environment"].outcome is Outcome.PASS
    rules: list[dict[str, Any]] = [{"type": "wait_timer"}, {"type": "required_reviewers"}]
    repository.environments["gitbot"] = Environment(id=1, name="gitbot", protection_rules=rules)
    found = made.job()["forge/environment"]
    assert found.outcome is Outcome.FAIL
    assert "a wait timer and reviewers" in found.message


def test_an_environment_that_every_branch_may_use_is_found(made: Clinic) -> None:
    environments = made.service.repository(NAME).environments
    assert "forge/secrets" not in made.job()
    environments["gitbot-a"] = Environment(id=1, name="gitbot-a")
    policy = {"protected_branches": True, "custom_branch_policies": False}
    environments["gitbot-b"] = Environment(id=2, name="gitbot-b", deployment_branch_policy=policy)
    environments["other"] = Environment(id=3, name="other")
    found = made.job()["forge/secrets"]
    assert (found.outcome, "gitbot-a:" in found.message) == (Outcome.WARN, True)
    assert "gitbot-b" not in found.message
    assert "other" not in found.message


def test_what_could_not_be_looked_at_is_said(made: Clinic) -> None:
    found = made.job(actions="")
    assert found["forge/actions"].outcome is Outcome.WARN  # only administrators may read it
    assert found["forge/environment"].outcome is Outcome.WARN


def test_an_unprotected_branch_and_no_review_are_said(made: Clinic) -> None:
    assert made.job()["forge/base"].outcome is Outcome.PASS
    made.service.repository(NAME).protection.clear()
    found = made.job()
    assert found["forge/base"].outcome is Outcome.FAIL
    assert found["forge/reviews"].outcome is Outcome.WARN
    assert found["forge/branches"].outcome is Outcome.WARN


def test_how_many_reviews_are_needed_must_be_readable(made: Clinic) -> None:
    """The token of a job may not read classic protection: a ruleset or a setting says it."""
    found = made.job()["forge/reviews"]
    assert found.outcome is Outcome.FAIL
    assert "forge.requiredReviews" in found.fix


@pytest.mark.parametrize(("origin", "said"), [({}, True), ({"integration_id": 15368}, False)])
def test_required_checks_of_anybody_are_found(
    made: Clinic, origin: dict[str, int], said: bool
) -> None:
    checks = [{"context": "gitbot/plan", **origin}, {"context": "build"}]
    made.service.repository(NAME).rulesets[1] = {
        "name": "base",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["~DEFAULT_BRANCH"], "exclude": []}},
        "rules": [
            {"type": "required_status_checks", "parameters": {"required_status_checks": checks}}
        ],
    }
    found = made.job().get("forge/required-checks")
    assert (found is not None) is said
    if found is not None:
        assert found.outcome is Outcome.WARN
        assert found.message == "main asks for gitbot/plan, from any account"


SIGNED = {"type": "required_signatures"}


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
def test_signatures_that_a_rule_asks_for_are_looked_at(
    made: Clinic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "forge/signatures" not in made.job()
    made.service.repository(NAME).rulesets[1] = {
        "name": "signed",
        "enforcement": "active",
        "conditions": {"ref_name": {"include": ["refs/heads/gitbot/**/*"], "exclude": []}},
        "rules": [SIGNED],
    }
    found = made.job()["forge/signatures"]
    assert (found.outcome, "gitbot/ledger asks" in found.message) == (Outcome.FAIL, True)
    assert SIGNING_KEY_FILE in found.fix

    private = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()
    )
    monkeypatch.setenv(SIGNING_KEY, private.decode())
    monkeypatch.setenv(SIGNING_EMAIL, "bot@acme.example")
    key = read_signing_key(os.environ)
    assert key is not None
    assert made.job()["forge/signatures"].outcome is Outcome.PASS  # nothing was written yet
    remote = str(made.service.repository(NAME).git.directory)
    GitRepository.clone(remote, tmp_path / "ledger", key=key).write_commit(
        branch="gitbot/ledger", expected=None, files={"a": b"0\n"}, message="line", time=1
    )
    found = made.job()["forge/signatures"]
    assert (found.outcome, "unknown_key" in found.message) == (Outcome.FAIL, True)
    assert key.public in found.fix

    made.service.signing_keys[key.public] = "bot@acme.example"
    assert made.job()["forge/signatures"].outcome is Outcome.PASS


def test_a_clock_that_is_wrong_is_found(made: Clinic) -> None:
    made.service.clock.sleep(300)
    assert made.job()["forge/clock"].outcome is Outcome.FAIL


def test_every_finding_has_a_fix(made: Clinic) -> None:
    for checks in (made.job(), made.job(checks="", issues="")):
        for check in checks.values():
            assert bool(check.fix) is (check.outcome is not Outcome.PASS), check
