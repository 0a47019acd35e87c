"""`gitbot snapshot` and the options that open a cluster."""

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from gitbot.cli.commands.snapshot import snapshot
from gitbot.cli.shared.options import (
    ClusterAccess,
    cluster_options,
    load_snapshot,
    now_option,
    output_option,
    scope_options,
)
from gitbot.errors import ClusterError, SnapshotError, UsageError
from gitbot.kubernetes.selectors import Scope
from gitbot.snapshot import read_snapshot

NODE = b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n"
POD = b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}'


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    found = []
    for name, data in (("node.yaml", NODE), ("pod.json", POD)):
        (tmp_path / name).write_bytes(data)
        found += ["--snapshot", str(tmp_path / name)]
    return found


def run(*arguments: str, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(snapshot, arguments, input=stdin)


def test_files_become_one_file(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out.json.gz"
    result = run(*files, "-o", str(out), "--now", "2026-12-06T21:00:00Z", "--name", "prod")
    assert result.exit_code == 0
    assert result.stdout == ""
    assert "prod: 1 nodes, 1 pods, 0 VMIs, sha256:" in result.stderr
    snapshot = read_snapshot([("out", out.read_bytes())], 0)
    assert (snapshot.cluster, snapshot.taken_at) == ("prod", 1_796_590_800)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "node.yaml",
        "out.json.gz",
        "pod.json",
    ]


def test_a_name_that_promises_text_is_told_that_it_is_gzip(
    files: list[str], tmp_path: Path
) -> None:
    for name, told in (("x.yaml", True), ("x.json.gz", False)):
        said = run(*files, "-o", str(tmp_path / name)).stderr
        assert ("is gzip: `gunzip -c <" in said) is told


def test_standard_input_and_output(files: list[str]) -> None:
    result = run("--snapshot", "-", "-o", "-", stdin=NODE)
    assert result.exit_code == 0
    assert json.loads(gzip.decompress(result.stdout_bytes))["kind"] == "ClusterSnapshot"


def test_what_is_no_plain_file_is_written_into_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("--snapshot", "-", "-o", str(pipe), stdin=NODE).exit_code == 0
        assert json.loads(gzip.decompress(os.read(reader, 65_536)))["kind"] == "ClusterSnapshot"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]
    result = run("--snapshot", "-", "-o", str(tmp_path), stdin=NODE)
    assert f"{tmp_path} cannot be written: Is a directory" in str(result.exception)


def test_no_other_file_of_a_person_is_replaced_or_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "c.gz.partial"
    own.write_text("mine", encoding="utf-8")
    assert run("--snapshot", "-", "-o", str(tmp_path / "c.gz"), stdin=NODE).exit_code == 0

    def full(_source: object, _target: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    result = run("--snapshot", "-", "-o", str(tmp_path / "d.gz"), stdin=NODE)
    assert "d.gz cannot be written: No space left on device" in str(result.exception)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.gz", "c.gz.partial"]
    assert own.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("now", ["9999-12-31T23:59:59Z", "1999-12-31T23:59:59Z"])
def test_a_now_that_no_calendar_has_is_refused(now: str) -> None:
    result = run("--snapshot", "-", "-o", "-", "--now", now, stdin=NODE)
    assert result.exit_code == 2
    assert "expected a time of the years 2000 to 2199" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "failure", "message"),
    [
        (["-o", "-"], ClusterError, "no cluster to talk to"),
        (["--snapshot", "/nowhere/x", "-o", "-"], SnapshotError, "/nowhere/x: No such file"),
        (["--snapshot", "/dev/zero", "-o", "-"], SnapshotError, "/dev/zero: found a device"),
        (["--snapshot", "", "-o", "-"], UsageError, "found an empty file name"),
        (["--snapshot", "-", "-o", "/nowhere/x"], SnapshotError, "cannot be written"),
    ],
)
def test_what_cannot_be_done(arguments: list[str], failure: type[Exception], message: str) -> None:
    result = run(*arguments, stdin=NODE)
    assert isinstance(result.exception, failure)
    assert message in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing option '-o'"),
        (["-o", "-", "--now", "tonight"], "found 'tonight', expected a time such as"),
        (["-o", "-", "--now", "2026-12-06T21:00:00"], "expected a time such as"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_options_arrive_together_with_a_commands_own() -> None:
    got: dict[str, Any] = {}

    @click.command()
    @cluster_options
    @scope_options
    @now_option
    @output_option(["table", "json"], "table")
    @click.argument("vm")
    def tried(**kwargs: Any) -> None:
        """Try."""
        got.update(kwargs)

    line = "--context c --kubeconfig k --snapshot a --snapshot b -n x -A --now 2026-12-06T21:00:00Z"
    result = CliRunner().invoke(tried, [*line.split(), "-o", "json", "vm/db"])
    assert result.exit_code == 0, result.output
    assert got == {
        "access": ClusterAccess(kubeconfig="k", context="c", snapshots=("a", "b")),
        "scope": Scope(),
        "now": 1_796_590_800,
        "output": "json",
        "vm": "vm/db",
    }


def test_the_configurations_context_gives_way_to_the_command_line() -> None:
    access = ClusterAccess(context="mine")
    assert access.of(name="prod", context="admin").context == "mine"
    assert ClusterAccess().of(name="prod", context="admin").context == "admin"


def test_plain_objects_take_the_clusters_name(files: list[str]) -> None:
    access = ClusterAccess(snapshots=tuple(files[1::2]), name="prod")
    assert load_snapshot(access, now=5).cluster == "prod"
