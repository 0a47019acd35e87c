"""Required terms in VMs' own specs that do not hold: gitbot proposes to heal them, quietly."""

from typing import Any

import pytest

from gitbot.workflows.apply import apply
from gitbot.workflows.propose import propose
from tests.doubles.customapp import INSTANCE
from tests.doubles.intents import HEAD
from tests.unit.workflows.story import Story, configuration

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
DATABASE = {"matchLabels": {"kubevirt.io/domain": "mssql2016"}}
BY_NODE = {"labelSelector": DATABASE, "topologyKey": "kubernetes.io/hostname"}
APART = {"affinity": {"podAntiAffinity": {REQUIRED: [BY_NODE]}}}
EVEN = {
    "topologySpreadConstraints": [
        {**BY_NODE, "maxSkew": 1, "minDomains": 3, "whenUnsatisfiable": "DoNotSchedule"}
    ]
}
ELSEWHERE = {"nodeSelector": {"kubernetes.io/hostname": "kni-worker2"}}
RULE = f"""{HEAD}kind: ZoneAntiAffinity
metadata: {{name: apart, namespace: customapp}}
spec: {{selector: {{matchLabels: {{kubevirt.io/domain: mssql2016}}}}, heal: Report}}
"""


def ask(story: Story, prefix: str, spec: dict[str, Any]) -> None:
    """Write terms into running VMIs, as if the cluster had changed after they were placed."""
    for vmi in story.cluster.list(INSTANCE, "customapp"):
        if vmi["metadata"]["name"].startswith(prefix):
            story.cluster.store.replace({**vmi, "spec": {**vmi["spec"], **spec}})


@pytest.mark.parametrize(
    ("prefix", "spec", "kind"),
    [
        ("mssql2016", APART, "virtualmachine"),
        ("mssql2016", EVEN, "virtualmachineinstance"),
        ("jumpbox", ELSEWHERE, "virtualmachine"),
    ],
)
def test_a_merge_moves_one_vm_and_the_term_holds(
    prefix: str, spec: dict[str, Any], kind: str
) -> None:
    story = Story.begin()
    ask(story, prefix, spec)
    (report,) = propose(story.shell).concerns
    assert report.concern.startswith(f"heal-{kind}-customapp-{prefix}")
    (pull,) = story.pulls()
    assert pull.title.startswith(f"Heal customapp/{prefix}")
    assert "asks in its own spec" in pull.body
    was = story.where()
    story.merge()
    assert apply(story.shell).states == {"succeeded": 1}
    moved = [name for name, node in story.where().items() if node != was[name]]
    assert len(moved) == 1
    story.port.sleep(60)
    propose(story.shell)  # records the merge
    before = story.writes()
    assert propose(story.shell).did_nothing
    assert (story.writes(), story.pulls()) == (before, ())


def test_a_vm_that_cannot_move_opens_nothing_and_is_named() -> None:
    story = Story.begin()
    ask(story, "jumpbox", {"nodeSelector": {"kubernetes.io/hostname": "gone"}})
    (report,) = propose(story.shell).concerns
    assert report.action == "nothing"
    assert report.reason.startswith("there is no plan: ")
    assert story.pulls() == ()


def test_an_intent_over_the_same_breach_decides() -> None:
    story = Story.begin(apart=RULE)
    ask(story, "mssql2016", APART)
    assert propose(story.shell).concerns == ()


def test_report_proposes_nothing() -> None:
    text: Any = configuration().replace("stabilize: PT0S", "stabilize: PT0S, ownTerms: Report")
    story = Story.begin(**{".gitbot.yaml": text})
    ask(story, "jumpbox", ELSEWHERE)
    assert propose(story.shell).concerns == ()
