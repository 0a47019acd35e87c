"""A broken file of one cluster: its own commands say so, and those of the others go on."""

from pathlib import Path

import pytest

from tests.doubles.intents import REQUEST
from tests.unit.cli.desk import Desk, at_desk

BROKEN = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Cluster
metadata: {name: second}
spec: {zone: UTC}
"""
ERROR = 'clusters/second.yaml:4:8: spec.zone: found the unknown field "zone"'


def break_second(desk: Desk) -> None:
    loop = desk.loop
    loop.person.fetch()
    start = loop.person.resolve("main")
    text = (desk.tree / ".gitbot.yaml").read_text()
    with_folder = text.replace("\nspec:\n", "\nspec:\n  clustersFrom: clusters\n")
    assert with_folder != text
    loop.person.write_commit(
        branch="main",
        expected=start,
        files={".gitbot.yaml": with_folder.encode(), "clusters/second.yaml": BROKEN.encode()},
        message="Add a cluster",
        time=loop.port.now(),
        parents=(start,) if start else (),
    )
    desk.git("pull", "-q", "--ff-only")


def test_a_broken_file_of_a_cluster_stops_its_own_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_desk(tmp_path, monkeypatch) as desk:
        own = f"--cluster={desk.loop.cluster.name}"
        break_second(desk)
        desk.commit(jump=REQUEST)
        planned = desk.gitbot("plan", own)
        assert (planned.code, "1 move" in planned.text) == (0, True), planned.text
        assert ERROR in planned.text
        assert desk.gitbot("reconcile", own).code == 0
        for words in (["plan"], ["apply"], ["status"], ["hold", "--reason", "r"]):
            said = desk.gitbot(*words, "--cluster=second")
            assert (said.code > 0, ERROR in said.err) == (True, True), said.text
            # the one cluster that can be read is not the only one
            said = desk.gitbot(*words)
            assert (said.code, "several clusters" in said.err) == (2, True), said.text
        listed = desk.gitbot("get", "clusters")
        assert "second" in listed.out
        assert "stopped   clusters/second.yaml:4:8: spec.zone" in listed.out
        linted = desk.gitbot("lint")
        assert (linted.code, ERROR in linted.text) == (1, True)
