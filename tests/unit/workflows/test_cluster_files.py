"""Files of clusters are configuration: the base branch decides, for checks and for passes."""

from pathlib import Path

import pytest

from gitbot.errors import InvalidInput
from gitbot.model.plan.findings import Severity
from gitbot.simulation.scenes import customapp
from gitbot.wiring.workspace import base_branch
from gitbot.workflows.core.context import base_head
from tests.doubles.intents import CONFIGURATION, REQUEST
from tests.scenarios.loop import Loop

PLACE = "clusters/own.yaml"
ENTRY = "clusters:\n  - name: CLUSTER\n    timeZone: Europe/Madrid\n"
FROM = CONFIGURATION.replace(ENTRY, "clustersFrom: clusters\n")
OWN = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Cluster
metadata: {name: CLUSTER}
spec: {timeZone: Europe/Madrid, limits: {parallel: 3, reserve: 0}}
"""


def commit(loop: Loop, files: dict[str, str], branch: str) -> None:
    loop.person.fetch()
    start = loop.person.resolve(branch)
    texts = {path: text.replace("CLUSTER", loop.cluster.name) for path, text in files.items()}
    loop.person.write_commit(
        branch=branch,
        expected=start,
        files={path: text.encode() for path, text in texts.items()},
        message="Configure clusters",
        time=loop.port.now(),
        parents=(start,) if start else (),
    )


def test_a_pull_request_changes_no_cluster_before_it_is_merged(tmp_path: Path) -> None:
    assert ENTRY in CONFIGURATION
    loop = Loop.start(tmp_path, customapp())
    commit(loop, {".gitbot.yaml": FROM, PLACE: OWN}, "main")
    pull = loop.open({"jump.yaml": REQUEST})
    commit(loop, {PLACE: OWN.replace("parallel: 3", "parallel: 900")}, "work")
    judged = loop.publish(pull.number).check.judged
    assert judged is not None
    assert judged.plan.limits.parallel == 3
    loop.merge(pull.number)
    assert loop.apply().waiting == ()
    settings = loop.shell.read_base(base_head(loop.shell)).settings
    own = settings.cluster(loop.cluster.name)
    assert own is not None
    assert own.limits.parallel == 900


def test_a_check_names_the_broken_file_of_a_pull_request(tmp_path: Path) -> None:
    loop = Loop.start(tmp_path, customapp())
    commit(loop, {".gitbot.yaml": FROM, PLACE: OWN}, "main")
    pull = loop.open({"jump.yaml": REQUEST})
    commit(loop, {"clusters/second.yaml": OWN}, "work")
    check = loop.publish(pull.number).check
    found = {(item.code, item.file, item.line) for item in check.findings}
    assert found == {("settings/duplicate", "clusters/second.yaml", 3)}
    assert check.judged is None


def test_a_pass_refuses_a_broken_file_of_the_base_branch(tmp_path: Path) -> None:
    loop = Loop.start(tmp_path, customapp())
    commit(loop, {".gitbot.yaml": FROM, PLACE: OWN.replace("timeZone", "zone")}, "main")
    loop.shell.repository.fetch()
    with pytest.raises(InvalidInput, match=rf"^{PLACE}:4:8: spec.zone: found the unknown field"):
        loop.shell.read_base(base_head(loop.shell))


BROKEN = OWN.replace("CLUSTER", "second").replace("timeZone", "zone")


def test_a_broken_file_of_another_cluster_stops_that_cluster_alone(tmp_path: Path) -> None:
    loop = Loop.start(tmp_path, customapp())
    commit(loop, {".gitbot.yaml": FROM, PLACE: OWN}, "main")
    breaks = loop.open({"first.yaml": REQUEST.replace("jump", "first")}, branch="breaks")
    commit(loop, {"clusters/second.yaml": BROKEN}, "breaks")
    (error,) = loop.publish(breaks.number).check.findings
    assert (error.file, error.severity) == ("clusters/second.yaml", Severity.ERROR)

    commit(loop, {"clusters/second.yaml": BROKEN}, "main")
    pull = loop.open({"jump.yaml": REQUEST})
    check = loop.publish(pull.number).check
    assert check.judged is not None
    assert [item.severity for item in check.findings if item.file == error.file] == ["warning"]
    loop.merge(pull.number)
    assert loop.apply().waiting == ()
    second = base_branch(loop.shell.repository, name="main", cluster="second")
    with pytest.raises(InvalidInput, match=r"^clusters/second.yaml:4:8: spec.zone: found the"):
        second.at(base_head(loop.shell))
