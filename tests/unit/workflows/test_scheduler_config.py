"""`schedulerConfig` of the base branch reaches every pass; a pull request cannot change it."""

from pathlib import Path

from gitbot.simulation.scenes import customapp
from gitbot.workflows.core.context import base_head
from tests.doubles.intents import CONFIGURATION, REQUEST
from tests.scenarios.loop import Loop

PLACE = "platform/scheduler.yaml"
NAMED = CONFIGURATION.replace(
    "timeZone: Europe/Madrid\n", f"timeZone: Europe/Madrid\n    schedulerConfig: {PLACE}\n"
)
EXTENDED = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: "http://here"}]
"""


def commit(loop: Loop, text: str, branch: str) -> None:
    loop.person.fetch()
    start = loop.person.resolve(branch)
    loop.person.write_commit(
        branch=branch,
        expected=start,
        files={PLACE: text.encode()},
        message="Configure the scheduler",
        time=loop.port.now(),
        parents=(start,) if start else (),
    )


def places(loop: Loop, number: int) -> set[tuple[str, str, int]]:
    found = loop.publish(number).check.findings
    return {(item.code, item.file, item.line) for item in found if item.file == PLACE}


def test_a_check_and_every_pass_read_the_file_of_the_base_branch(tmp_path: Path) -> None:
    loop = Loop.start(tmp_path, customapp(), configuration=NAMED)
    commit(loop, EXTENDED, "main")
    pull = loop.open({"jump.yaml": REQUEST})
    unjudged = ("plan/scheduler-profile", PLACE, 3)
    assert places(loop, pull.number) == {unjudged}
    commit(loop, EXTENDED.replace("/v1", "/v2"), "work")
    refused = ("settings/scheduler-config", PLACE, 1)
    assert refused in places(loop, pull.number)
    commit(loop, "# of a pull request\n" * 3 + EXTENDED, "work")
    assert places(loop, pull.number) == {unjudged}
    loop.merge(pull.number)
    assert loop.apply().waiting == ()
    engine = loop.shell.read_base(base_head(loop.shell))
    problem = engine.problem(loop.port.snapshot(), loop.port.now())
    assert problem.snapshot.profiles is not None
    assert [part.line for part in problem.snapshot.profiles.unjudged] == [6]
