"""The workflows that `gitbot init --forge github` writes: rights, pins, inputs, queues."""

import re
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from gitbot.adapters.forges.github.setup import SETUP, GitHubChoices, workflow_files
from gitbot.adapters.working_tree import ShippedTexts
from gitbot.cli.commands.init import check_choices
from gitbot.documents import read_kubernetes_yaml
from gitbot.errors import UsageError

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CHOICES = GitHubChoices(
    repository="acme/placement", action=f"acme/gitbot@{COMMIT}", runs_on="self-hosted,prod"
)
FILES = workflow_files(ShippedTexts().workflows(), CHOICES, cluster="iberia")
NAMES = ("apply", "comment", "plan", "reconcile", "show")
WRITE = {"checks", "contents", "issues", "pull-requests", "statuses"}
BIN = Path(sys.executable).parent


def text(name: str) -> str:
    return FILES[f".github/workflows/{name}.yml"]


def workflow(name: str) -> dict[str, Any]:
    (value,) = read_kubernetes_yaml(text(name).encode(), name)
    found: dict[str, Any] = value
    return found


def jobs(name: str) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = workflow(name)["jobs"]
    return found


def test_another_base_branch_is_the_one_that_everything_acts_on() -> None:
    choices = replace(CHOICES, base_branch="release/vms")
    files = workflow_files(ShippedTexts().workflows(), choices, cluster="iberia")
    for text in files.values():
        assert "main" not in re.findall(r"(?:ref|BASE|branches): \[?([\w/]+)", text)
        assert "origin/main" not in text


def test_there_are_five_and_pages_only_for_who_asks() -> None:
    assert sorted(FILES) == [f".github/workflows/{name}.yml" for name in NAMES]
    asked = workflow_files(
        ShippedTexts().workflows(), replace(CHOICES, site="yes"), cluster="iberia"
    )
    (site,) = asked.keys() - FILES.keys()
    assert site == ".github/workflows/site.yml"
    (value,) = read_kubernetes_yaml(asked[site].encode(), site)
    write, publish = value["jobs"]["write"], value["jobs"]["publish"]
    assert set(write["permissions"].values()) == {"read"}
    assert publish["permissions"] == {"id-token": "write", "pages": "write"}
    assert "secrets." not in str(publish)
    assert not any("run" in step for job in (write, publish) for step in job["steps"])
    assert re.findall(r"\buses: (?!\S+@[0-9a-f]{40}\b)", asked[site]) == []
    assert not re.search(r"\b(OWNER|0{40}|BRANCH|CLUSTER|RUNNER)\b", asked[site])


def test_pages_are_yes_or_no() -> None:
    (problem,) = SETUP.problems({**asdict(CHOICES), "site": "perhaps"})
    assert problem == ("site", "found the site 'perhaps', expected yes or no")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_left_to_fill_in(name: str) -> None:
    assert not re.search(r"\b(OWNER|0{40}|BRANCH|CLUSTER|RUNNER)\b", text(name))
    assert "[iberia]" in text(name) or name == "comment"


@pytest.mark.parametrize("name", NAMES)
def test_every_action_is_of_github_or_our_own_and_pinned_by_commit(name: str) -> None:
    used = re.findall(r"\buses: (\S+)", text(name))
    assert used
    for action in used:
        place, _, commit = action.partition("@")
        assert re.fullmatch(r"[0-9a-f]{40}", commit)
        ours = "acme/gitbot"
        assert place in ("actions/checkout", "actions/upload-artifact", ours)


@pytest.mark.parametrize("name", NAMES)
def test_no_job_has_a_cache_or_keeps_its_credentials(name: str) -> None:
    assert "cache" not in text(name)
    assert "pull_request_target" not in text(name)
    for job in jobs(name).values():
        for step in job["steps"]:
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_written_into_a_script(name: str) -> None:
    for job in jobs(name).values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("name", ["apply", "comment", "reconcile"])
def test_the_token_stands_in_no_list_of_processes(name: str, tmp_path: Path) -> None:
    curl = tmp_path / "curl"
    curl.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >arguments\ncat >said\n', encoding="utf-8")
    curl.chmod(0o755)
    steps = [step for job in jobs(name).values() for step in job["steps"] if "run" in step]
    scripts = [step["run"] for step in steps if "TOKEN" in step["env"]]
    assert not any("TOKEN" in step["run"] for step in steps if "TOKEN" not in step["env"])
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "TOKEN": "ghs_secret",
        "BASE": "main",
        "GITHUB_API_URL": "https://api.example",
        "GITHUB_REPOSITORY": "acme/placement",
    }
    (script,) = scripts
    subprocess.run(["bash", "-e", "-c", script], env=environment, cwd=tmp_path, check=True)
    assert (tmp_path / "said").read_text(encoding="utf-8") == "Authorization: Bearer ghs_secret"
    arguments = (tmp_path / "arguments").read_text(encoding="utf-8")
    assert "ghs_secret" not in arguments
    assert '{"ref":"main"}' in arguments


RIGHTS = [
    ("plan", "plan", {"contents"}, set()),
    ("show", "show", set(), WRITE | {"security-events"}),
    ("apply", "apply", set(), WRITE),
    ("apply", "scan", {"contents"}, {"security-events"}),
    ("apply", "hand-over", set(), {"actions"}),
    ("reconcile", "reconcile", set(), WRITE),
    ("reconcile", "hand-over", set(), {"actions"}),
    ("comment", "comment", set(), WRITE),
    ("comment", "start", set(), {"actions"}),
]


@pytest.mark.parametrize(("name", "job", "reads", "writes"), RIGHTS)
def test_each_job_has_the_rights_that_it_needs_and_no_other(
    name: str, job: str, reads: set[str], writes: set[str]
) -> None:
    assert workflow(name)["permissions"] == {}
    given = jobs(name)[job]["permissions"]
    assert {key for key, right in given.items() if right == "read"} == reads
    assert {key for key, right in given.items() if right == "write"} == writes


def test_the_table_of_rights_names_every_job() -> None:
    assert {(name, job) for name in NAMES for job in jobs(name)} == {
        (name, job) for name, job, _, _ in RIGHTS
    }


@pytest.mark.parametrize(
    ("name", "secrets"),
    [
        ("plan", set()),
        ("show", {"GITBOT_APP_KEY"}),
        ("comment", {"GITBOT_APP_KEY"}),
        ("apply", {"GITBOT_APP_KEY", "GITBOT_KUBECONFIG"}),
        ("reconcile", {"GITBOT_APP_KEY", "GITBOT_KUBECONFIG"}),
    ],
)
def test_the_cluster_is_reached_only_where_apply_runs(name: str, secrets: set[str]) -> None:
    assert set(re.findall(r"secrets\.(\w+)", text(name))) == secrets
    for job in jobs(name).values():
        uses_secret = "secrets." in str(job)
        assert ("environment" in job) is uses_secret
        reaches = "GITBOT_KUBECONFIG" in str(job)
        assert job["runs-on"] == (["self-hosted", "prod"] if reaches else "ubuntu-latest")


def test_apply_and_reconcile_queue_for_a_cluster_and_a_comment_for_nothing() -> None:
    words = {
        "apply": "gitbot-apply-${{ matrix.cluster }}",
        "reconcile": "gitbot-${{ inputs.doctor && 'doctor' || 'apply' }}-${{ matrix.cluster }}",
    }
    for name, group in words.items():
        assert jobs(name)[name]["concurrency"] == {"group": group, "cancel-in-progress": False}
    assert "concurrency" not in workflow("comment")
    assert all("concurrency" not in job for job in jobs("comment").values())
    assert "gitbot-apply" not in text("show") + text("plan")


@pytest.mark.parametrize(
    ("name", "step", "links"),
    [
        ("plan", "check", False),
        ("show", "show", True),
        ("reconcile", "reconcile", True),
        ("comment", "comment", True),
    ],
)
def test_reports_are_kept_and_linked_where_something_is_shown(
    name: str, step: str, links: bool
) -> None:
    steps = jobs(name)[name]["steps"]
    (made,) = (item for item in steps if item.get("id") == step)
    assert (made["with"].get("keep-reports") == "true") is links
    after = steps[steps.index(made) + 1]
    assert after["uses"].startswith("actions/upload-artifact@")
    assert after["continue-on-error"] is True
    assert after["with"]["path"] == f"${{{{ steps.{step}.outputs.reports }}}}/*.html"


def test_code_scanning_gets_the_base_branch_and_pull_requests_alike() -> None:
    """GitHub compares an analysis of a pull request with one of the same category of its base."""
    _, look, scanning = jobs("apply")["scan"]["steps"]
    assert "published=true" in look["run"]
    assert scanning["if"] == "${{ steps.snapshot.outputs.published == 'true' }}"
    scan = scanning["with"]
    show = next(step for step in jobs("show")["show"]["steps"] if step.get("id") == "show")["with"]
    assert workflow("apply")["on"] == {"push": {"branches": ["main"]}}
    assert (scan["sarif-ref"], scan["sarif-commit"]) == ("${{ github.ref }}", "${{ github.sha }}")
    assert show["sarif-ref"].startswith("${{ github.event.workflow_run.pull_requests[0] && ")
    for given in (scan, show):  # the category has the cluster's name
        assert given["command"] == "check"
        assert given["arguments"].startswith("--cluster\n${{ matrix.cluster }}\n")
        assert given["token"] == "${{ github.token }}"


def test_the_trusted_run_checks_out_the_base_branch_only() -> None:
    (job,) = jobs("show").values()
    assert job["steps"][0]["with"]["ref"] == "main"
    taken = set(re.findall(r"github\.event\.([\w.]+)", text("show")))
    numbers = {"workflow_run.pull_requests"}  # of the same repository; none for a fork
    assert taken == {"workflow_run.head_sha", "workflow_run.event"} | numbers
    assert "download-artifact" not in text("show")


def test_the_schedule_is_every_ten_minutes_and_never_on_the_hour() -> None:
    (entry,) = workflow("reconcile")["on"]["schedule"]
    minutes = [int(item) for item in entry["cron"].split()[0].split(",")]
    assert minutes == list(range(minutes[0], 60, 10))
    assert 0 not in minutes
    assert len(minutes) == 6


def test_a_pass_ends_before_its_job_does() -> None:
    for name in ("apply", "reconcile"):
        job = jobs(name)[name]
        (step,) = (step for step in job["steps"] if step.get("id") == name)
        lines = step["with"]["arguments"].split()
        longest = int(lines[lines.index("--max-runtime") + 1])
        assert longest + 600 < job["timeout-minutes"] * 60


@pytest.mark.parametrize("name", NAMES)
def test_every_job_ends_some_time(name: str) -> None:
    assert all(0 < job["timeout-minutes"] <= 90 for job in jobs(name).values())


def test_zizmor_finds_nothing_and_every_exception_has_its_reason(tmp_path: Path) -> None:
    for path, content in FILES.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    found = subprocess.run(
        [str(BIN / "zizmor"), "--offline", "--no-progress", "--quiet", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    exceptions = re.findall(r"zizmor: ignore\[[\w-]+\](.*)", "\n".join(FILES.values()))
    assert len(exceptions) == 2
    assert all(len(reason.split()) > 5 for reason in exceptions)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"repository": ""}, "expected OWNER/NAME"),
        ({"repository": "acme/placement\nx: y"}, "expected OWNER/NAME"),
        ({"action": "acme/gitbot@v1"}, "with a full commit"),
        ({"action": "acme/gitbot"}, "with a full commit"),
        ({"action": f"acme/gitbot@{COMMIT}\n"}, "with a full commit"),
        ({"runs_on": "self-hosted\n"}, "expected labels"),
        ({"runs_on": "${{ secrets.X }}"}, "expected labels"),
        ({"base_branch": "main]"}, "a name such as main"),
        ({"base_branch": ""}, "a name such as main"),
    ],
)
def test_what_would_make_another_workflow_is_refused(choices: dict[str, str], words: str) -> None:
    good = {"repository": "acme/placement", "action": f"acme/gitbot@{COMMIT}", "runs_on": "x"}
    with pytest.raises(UsageError, match=words):
        check_choices(SETUP, {**good, "base_branch": "main", **choices})
