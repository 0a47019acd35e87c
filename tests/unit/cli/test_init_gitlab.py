"""The pipelines that `gitbot init --forge gitlab` writes: who gets secrets, and when what runs."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gitbot.adapters.forges.gitlab.setup import FILE, SETUP, pipelines
from gitbot.cli.commands.init import check_choices, init
from gitbot.cli.main import cli
from gitbot.documents import read_kubernetes_yaml
from gitbot.errors import UsageError
from gitbot.settings import not_at_hand, read_settings
from gitbot.wiring.forges import commented

CHOICES = {
    "address": "https://git.example.org",
    "repository": "acme/site/placement",
    "image": "images.example.org/gitbot:1",
    "base_branch": "release/vms",
}
TEXT = pipelines(CHOICES, "iberia")[FILE]
(WHOLE,) = read_kubernetes_yaml(TEXT.encode(), FILE)
GLOBAL = {"workflow", "variables", "default", "stages"}
JOBS: dict[str, dict[str, Any]] = {name: job for name, job in WHOLE.items() if name not in GLOBAL}
UNTRUSTED = '$CI_PIPELINE_SOURCE == "merge_request_event"'


def conditions(rules: list[dict[str, str]]) -> list[str]:
    return [rule["if"] for rule in rules]


def test_there_are_five_and_a_diagnosis() -> None:
    assert set(JOBS) == {"plan", "show", "apply", "reconcile", "comment", "doctor"}
    assert not re.search(r"\b(ADDRESS|IMAGE|BRANCH|CLUSTER)\b", TEXT)
    for name, job in JOBS.items():
        matrix = job.get("parallel", {}).get("matrix")
        assert matrix == [{"GITBOT_CLUSTER": ["iberia"]}] or name == "comment"


def test_only_the_plan_runs_what_others_wrote() -> None:
    """Every other pipeline is one of the protected base branch: its file, its variables."""
    assert conditions(WHOLE["workflow"]["rules"]) == [
        UNTRUSTED, '$CI_COMMIT_BRANCH == "release/vms"',
    ]  # fmt: skip
    for name, job in JOBS.items():
        rules = conditions(job["rules"])
        assert (rules == [UNTRUSTED]) == (name == "plan")
        assert all("$CI_PIPELINE_SOURCE ==" in rule for rule in rules)
        assert (UNTRUSTED in rules) == (name == "plan")


def test_the_plan_needs_no_secret_and_no_environment() -> None:
    plan = JOBS["plan"]
    assert "environment" not in plan
    said = json.dumps(plan)
    assert not re.search("TOKEN|KUBECONFIG|publish\\b", said)
    for name in ("apply", "reconcile", "doctor"):
        assert JOBS[name]["environment"] == {"name": "gitbot-$GITBOT_CLUSTER"}
    assert JOBS["show"]["environment"] == JOBS["comment"]["environment"] == {"name": "gitbot"}


def test_one_executor_for_a_cluster_and_nobody_interrupts_it() -> None:
    for name in ("apply", "reconcile"):
        assert JOBS[name]["resource_group"] == "gitbot-$GITBOT_CLUSTER"
        assert JOBS[name]["interruptible"] is False
    assert "resource_group" not in JOBS["comment"]


def test_the_names_of_the_protected_variables_are_said() -> None:
    for name in ("GITBOT_GITLAB_TOKEN", "GITBOT_KUBECONFIG"):
        assert re.search(rf"# +{name} +protected", TEXT)


@pytest.mark.parametrize("name", sorted(JOBS))
def test_every_line_is_one_of_the_shell_and_every_command_one_of_gitbot(name: str) -> None:
    lines = [*WHOLE["default"]["before_script"], *JOBS[name]["script"]]
    subprocess.run(["sh", "-n"], input="\n".join(lines), text=True, check=True, timeout=30)
    for line in lines:
        if not line.startswith("gitbot "):
            continue
        _, command, *arguments = re.sub(r'"\$\w+(/\w+)?"', "7", line).split()
        options = [word for word in arguments if word.startswith("--")]
        shown = CliRunner().invoke(cli, [command, "--help"]).output
        assert all(re.search(rf"{option}\b", shown) for option in options), shown


def test_the_configuration_names_the_server(tmp_path: Path) -> None:
    arguments = [str(tmp_path), "--forge", "gitlab", "--cluster", "iberia"]
    for name, value in CHOICES.items():
        arguments += [f"--{name.replace('_', '-')}", value]
    assert CliRunner().invoke(init, arguments, standalone_mode=False).exception is None
    assert (tmp_path / FILE).read_text() == TEXT
    data = (tmp_path / ".gitbot.yaml").read_bytes()
    settings, found = read_settings(data, ".gitbot.yaml", not_at_hand)
    assert settings is not None, found
    forge = settings.forge
    assert (forge.type, forge.address) == ("gitlab", "https://git.example.org")
    assert (forge.repository, forge.base_branch) == ("acme/site/placement", "release/vms")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("address", "git.example.org"), ("address", 'https://x"y'), ("address", "https://a@b"),
        ("repository", "placement"), ("repository", "acme//placement"), ("image", ""),
        ("image", 'x"\ny'), ("base_branch", "$(x)"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=f"found the {'branch' if 'base' in name else name}"):
        check_choices(SETUP, {**CHOICES, name: value})


def test_a_webhook_says_which_note_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "payload"
    environment = {"TRIGGER_PAYLOAD": str(file)}
    with pytest.raises(UsageError, match="cannot be read"):
        commented(environment)
    event = {"object_kind": "note", "object_attributes": {"id": 1241}, "merge_request": {"iid": 7}}
    file.write_text(json.dumps(event))
    assert commented(environment) == (7, 1241)
    for wrong in ("{}", "[]", "x", '{"merge_request": {"iid": "x"}}'):
        file.write_text(wrong)
        with pytest.raises(UsageError, match="not an event about a note"):
            commented(environment)
