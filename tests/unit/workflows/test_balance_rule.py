"""A BalanceRule from a new node to pull request, moves and silence: damped, and never back."""

import pytest

from gitbot.simulation.building import guest, machine, node
from gitbot.workflows.apply import apply
from gitbot.workflows.propose import propose
from gitbot.workflows.watch import reconcile
from tests.doubles.intents import HEAD
from tests.unit.workflows.story import Story

DAY = 86_400
CONCERN = "heal-balancerule-even"
NEW = "kni-worker7"
EVEN = f"""{HEAD}kind: BalanceRule
metadata: {{name: even}}
spec: {{above: 30, maxMoves: 2, sustained: PT1H}}
"""
APPS = {"app": "web"}


def begin(rule: str = EVEN, settings: str = "", freeze: str = "") -> Story:
    """Every worker has a 64 GiB node with VMs of 10 GiB; then a node is added that has none."""
    story = Story.begin(settings=settings, even=rule)
    if freeze:
        story.commit(quiet=freeze)
    story.cluster.apply(
        [
            machine(f"web-{number:02}", namespace="customapp", labels=APPS, spec=spec(number))
            for number in range(30)
        ]
    )
    story.cluster.settle()
    return story


def spec(number: int) -> dict[str, object]:
    name = f"kni-worker{number % 6 + 1 if number % 6 else ''}"
    wish = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In"}]}
    wish["matchExpressions"][0]["values"] = [name]  # type: ignore[assignment]
    preferred = [{"weight": 100, "preference": wish}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return {"domain": guest(memory="9Gi"), "affinity": affinity}


def add_node(story: Story) -> None:
    zone = {"topology.kubernetes.io/zone": "scu", "topology.kubernetes.io/region": "iberia"}
    story.cluster.apply([node(NEW, labels=zone, cpu="16", memory="64Gi")])
    story.cluster.settle()


def look(story: Story) -> tuple[str, str]:
    """Propose, and return what was done about the rule, and why."""
    found = [item for item in propose(story.shell).concerns if item.concern == CONCERN]
    return (found[0].action, found[0].reason) if found else ("", "")


def on_new(story: Story) -> list[str]:
    return sorted(name for name, where in story.where().items() if where == NEW)


def test_a_new_node_fills_by_pull_requests_and_then_there_is_silence() -> None:
    story = begin()
    assert look(story) == ("", "")
    add_node(story)
    assert look(story) == ("waiting", "seen for 0 s, proposed after 3600 s")
    story.port.sleep(3600)
    assert look(story)[0] == "opened"
    (pull,) = story.pulls()
    assert pull.title == f"Even out nodes: move 2 VMs to {NEW}"
    assert f"full by requests and {NEW} 0 %, more than 30 points apart" in pull.body
    story.merge()
    assert apply(story.shell).states == {"succeeded": 2}
    filled = on_new(story)
    assert len(filled) == 2
    assert look(story) == ("", "")  # not again on the same day
    rounds = 0
    while rounds < 20:
        rounds += 1
        story.port.sleep(DAY)
        reconcile(story.shell)
        story.port.sleep(3600)
        reconcile(story.shell)
        if not story.pulls():
            break
        story.merge()
        reconcile(story.shell)
        assert set(filled) <= set(on_new(story))
        filled = on_new(story)
    assert (rounds, len(filled)) == (2, 4)
    story.port.sleep(2 * DAY)
    reconcile(story.shell)
    before = story.writes()
    assert reconcile(story.shell).did_nothing
    assert (story.pulls(), story.writes()) == ((), before)


def test_what_is_auto_waits_as_long() -> None:
    story = begin(
        EVEN.replace("sustained: PT1H", "sustained: PT0S, heal: Auto"), "  allowAuto: true\n"
    )
    add_node(story)
    reconcile(story.shell)
    assert len(on_new(story)) == 2
    story.port.sleep(DAY - 3600)
    reconcile(story.shell)
    assert len(on_new(story)) == 2
    story.port.sleep(2 * 3600)
    reconcile(story.shell)
    assert len(on_new(story)) == 4


def test_a_node_that_is_cordoned_or_tainted_counts_as_no_empty_one() -> None:
    story = begin()
    add_node(story)
    assert look(story)[0] == "waiting"
    story.cluster.cordon(NEW)
    assert look(story) == ("", "")


@pytest.mark.parametrize(
    "fields",
    [
        "heal: Report",
        "protected: {matchExpressions: [{key: x, operator: DoesNotExist}]}",
        "namespaces: [shop]",
    ],
)
def test_nothing_is_proposed_for_vms_that_shall_stay(fields: str) -> None:
    story = begin(EVEN.replace("sustained: PT1H", fields))
    add_node(story)
    assert look(story) == ("", "")


def test_a_freeze_holds_it() -> None:
    freeze = f"""{HEAD}kind: FreezeWindow
metadata: {{name: quiet}}
spec: {{namespaces: [customapp], reason: quarter close}}
"""
    story = begin(EVEN.replace("PT1H", "PT0S"), freeze=freeze)
    add_node(story)
    assert look(story) == ("nothing", "there is no plan: nothing to move")


def test_a_plan_that_was_closed_stays_closed() -> None:
    story = begin(EVEN.replace("PT1H", "PT0S"))
    add_node(story)
    assert look(story)[0] == "opened"
    (pull,) = story.pulls()
    story.forge.close_pull(pull.number)
    assert look(story)[0] == "silent"
    story.port.sleep(2 * DAY)
    assert look(story)[0] == "silent"
    assert story.pulls() == ()
