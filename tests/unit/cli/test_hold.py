"""`gitbot hold` and `resume` where one of the two places of the stop flag is out of reach."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gitbot.adapters.lazy_cluster import LazyCluster
from gitbot.cli.commands import hold, resume
from gitbot.errors import ClusterError, GitbotError, RepositoryError
from gitbot.execution.ledger_folds import stop_flag
from gitbot.ports.cluster import Cluster
from gitbot.wiring import clusters
from gitbot.workflows.apply import ApplyResult, apply
from gitbot.workflows.core.context import RunContext
from gitbot.workflows.core.stop_conditions import UnknownStop
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan

HINT = "kubectl create configmap gitbot-hold -n gitbot --from-literal=reason="


def no_kubeconfig() -> Cluster:
    raise ClusterError("no kubeconfig")


@pytest.fixture
def stage() -> Stage:
    stage = Stage.of(nodes={"a": "east", "c": "west"}, vms={"one": "a"})
    stage.approve(a_plan(a_move("one", "a", "c")))
    return stage


def serve(
    monkeypatch: pytest.MonkeyPatch, shell: RunContext | None, cluster: Cluster | None
) -> None:
    @contextmanager
    def opened(where: dict[str, str]) -> Iterator[RunContext]:
        if shell is None:
            raise RepositoryError("git fetch failed")
        late = LazyCluster("prod", lambda: cluster or no_kubeconfig())
        yield replace(shell, cluster=late)

    monkeypatch.setattr(hold, "running", opened)
    monkeypatch.setattr(resume, "running", opened)
    monkeypatch.setattr(hold, "cluster_alone", lambda _: cluster or no_kubeconfig())


def call(command: Any, *arguments: str) -> Result:
    return CliRunner().invoke(
        command, [*arguments, "--by", "ann"], catch_exceptions=False, standalone_mode=False
    )


def test_without_the_remote_the_cluster_is_held(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, None, stage.cluster)
    result = call(hold.hold, "--reason", "smoke")
    assert result.return_value == 0
    assert result.stdout == "stopped (flag set in cluster): smoke\n"
    assert result.stderr == "warning: not set in the ledger: git fetch failed\n"
    assert stage.cluster.flag == "smoke (ann)"
    assert apply(stage.shell).created == 0


def test_without_the_cluster_the_ledger_is_held(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, stage.shell, None)
    result = call(hold.hold, "--reason", "smoke")
    assert result.return_value == 0
    assert result.stdout == "stopped (flag set in ledger): smoke\n"
    assert "warning: not set in the cluster: no kubeconfig\n" in result.stderr
    assert HINT in result.stderr
    assert stage.cluster.flag is None
    assert apply(stage.shell).created == 0


def test_with_neither_it_fails_and_says_both(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, None, None)
    with pytest.raises(GitbotError) as caught:
        call(hold.hold)
    assert caught.value.exit_code == 2
    assert str(caught.value).splitlines() == [
        "the stop flag is set nowhere",
        "  in the ledger: git fetch failed",
        "  in the cluster: no kubeconfig",
        f"  by hand: {HINT}stop",
    ]
    assert stage.cluster.flag is None


@pytest.mark.parametrize("text", [None, "kind: Nonsense\n"])
def test_a_cluster_named_by_hand_is_held_without_a_configuration(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    if text:
        (tmp_path / ".gitbot.yaml").write_text(text)
    opened: list[dict[str, str]] = []

    def open_cluster(**where: str) -> Cluster:
        opened.append(where)
        return stage.cluster

    monkeypatch.setattr(clusters, "open_cluster", open_cluster)
    result = call(hold.hold, "--reason", "smoke", "--context", "prod-admin")
    assert result.stdout == "stopped (flag set in cluster): smoke\n"
    assert "warning: not set in the ledger: " in result.stderr
    assert opened == [{"name": "prod-admin", "kubeconfig": "", "context": "prod-admin"}]
    assert stage.cluster.flag == "smoke (ann)"
    with pytest.raises(GitbotError, match="the stop flag is set nowhere"):
        call(hold.hold)


def test_a_cluster_is_held_from_a_folder_without_the_files_of_clusters(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    head = "apiVersion: placement.gitbot.dev/v1alpha1\nkind: Configuration\n"
    (tmp_path / ".gitbot.yaml").write_text(f"{head}spec: {{clustersFrom: clusters}}\n")
    opened: list[dict[str, str]] = []

    def open_cluster(**where: str) -> Cluster:
        opened.append(where)
        return stage.cluster

    monkeypatch.setattr(clusters, "open_cluster", open_cluster)
    result = call(hold.hold, "--reason", "smoke", "--cluster", "lab")
    assert result.stdout == "stopped (flag set in cluster): smoke\n"
    assert opened == [{"name": "lab", "kubeconfig": "", "context": "lab"}]


def test_what_runs_is_cancelled_without_the_remote(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.cluster.stuck = {"one"}
    apply(stage.shell, max_runtime=7)
    serve(monkeypatch, None, stage.cluster)
    assert "deleted: " in call(hold.hold, "--cancel-running").stdout
    assert stage.cluster.list_migrations() == ()


def test_what_could_not_be_cancelled_is_not_clean(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, stage.shell, None)
    result = call(hold.hold, "--cancel-running")
    assert result.return_value == 2
    assert "what runs was not cancelled in the cluster: no kubeconfig" in result.stderr


def test_resume_without_the_cluster_takes_nothing_away(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, stage.shell, stage.cluster)
    call(hold.hold)
    serve(monkeypatch, stage.shell, None)
    with pytest.raises(GitbotError, match=r"not resumed, .*: no kubeconfig"):
        call(resume.resume)
    assert stop_flag(stage.store.read(), "prod")
    assert stage.cluster.flag is not None


def test_a_half_resume_says_what_remains(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RepositoryError("push refused")

    serve(monkeypatch, stage.shell, stage.cluster)
    call(hold.hold)
    before: Callable[..., None] = stage.store.before_append
    stage.store.before_append = refuse
    with pytest.raises(GitbotError, match=r"half resumed: .* in the ledger remains: push refused"):
        call(resume.resume)
    assert stop_flag(stage.store.read(), "prod")
    stage.store.before_append = before
    assert call(resume.resume).stdout == "resumed by ann\n"
    assert apply(stage.shell).created == 1


def test_a_cluster_is_opened_when_it_is_asked_something() -> None:
    late = LazyCluster("prod", no_kubeconfig)
    assert late.name == "prod"
    with pytest.raises(ClusterError, match="no kubeconfig"):
        late.snapshot()


@pytest.mark.parametrize(
    ("stop", "unsure"),
    [
        (UnknownStop("the API server's clock is 99 s away from ours (at most 30)"), True),
        (UnknownStop("the stop flag cannot be read: connection refused"), True),
        ("the stop flag cannot be read: so a person wrote in the reason", False),
        ("held by hand", False),
        ("", False),
    ],
)
def test_a_pass_that_could_not_read_is_unsure_with_nothing_approved(
    stop: str, unsure: bool
) -> None:
    assert ApplyResult(stop=stop).unsure is unsure
