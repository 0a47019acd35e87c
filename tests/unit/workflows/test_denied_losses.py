"""A plan that makes single losses worse is denied when it is applied, not only when it is shown."""

import pytest

from gitbot.execution.executor_types import Approval, Approved
from gitbot.model.ledger.ledger import Ledger
from gitbot.model.ledger.request_id import DrainId, OccurrenceId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.wiring.workspace import shipped
from gitbot.workflows.core.revision import Revision, Texts, read_revision
from gitbot.workflows.core.revision_engine import RevisionEngine
from tests.doubles.intents import HEAD
from tests.doubles.problems import NOW
from tests.unit.constraints.test_resilience import FOUR, Placed, moved, snapshot
from tests.unit.workflows.story import configuration

PLAN = moved({"web-1": ("n-a", "n-b")})
CROWDED = [*FOUR, ("new", "n-a", "4Gi")]  # n-b alone takes a large VM, until web-1 comes
SURVIVE = "  resilience: {survive: [Node]}\n"
WINDOW = f"""{HEAD}kind: MaintenanceWindow
metadata: {{name: rack}}
spec:
  nodes: {{names: [n-a, n-b]}}
  schedule: {{start: "2026-12-06T22:00", timeZone: UTC, duration: PT4H}}
  drain: {{done: Rebooted, reboot: PT10M}}
"""


def denied(
    plan: PlacementPlan, vms: list[Placed], settings: str = SURVIVE, *, policy: bool = True
) -> list[str]:
    """What apply says against the only group of the plan."""
    files = {
        ".gitbot.yaml": configuration(settings).encode(),
        "intents/iberia/rack.yaml": WINDOW.encode(),
    }
    if policy:
        text = shipped().policies["safety/resilience.yaml"]
        files["policies/resilience.yaml"] = text.encode()
    texts = Texts(files=files)
    revision = read_revision(texts, cluster="iberia", shipped=shipped())
    assert isinstance(revision, Revision)
    assert revision.findings == ()
    (request,) = {move.request for move in plan.moves}
    approval = Approval(digest="d", pull_request=0)
    approved = Approved(id=request, approval=approval, moves=plan.moves, plan=plan)
    view = RevisionEngine(revision=revision).view(
        snapshot(vms), Ledger(), (approved,), now=NOW, stop=""
    )
    reasons = [reason for stale in view.denied for reason in stale.reasons]
    return [reason for reason in reasons if reason.startswith("policy/resilience: ")]


@pytest.mark.parametrize(
    ("vms", "settings", "policy", "expected"),
    [
        (list(FOUR), SURVIVE, True, False),  # as when it was shown
        (CROWDED, SURVIVE, True, True),
        (CROWDED, "", True, False),  # no loss is to be survived
        (CROWDED, SURVIVE, False, False),
        (CROWDED[1:], SURVIVE, True, False),  # the VM is gone
    ],
)
def test_a_plan_that_makes_a_loss_worse_by_now(
    vms: list[Placed], settings: str, policy: bool, expected: bool
) -> None:
    found = denied(PLAN, vms, settings, policy=policy)
    assert bool(found) is expected
    assert all("the loss of" in reason and "more VMs" in reason for reason in found)


def test_nodes_that_return_within_a_drain_are_not_taken_for_lost() -> None:
    """As when it was shown: n-a is back when n-b leaves, so nothing gets worse."""
    places = {"web-1": ("n-a", "n-b"), "web-2": ("n-b", "n-c")}
    drain = DrainId(occurrence=OccurrenceId(window="rack", id="20261206T220000Z"))
    plan = moved(places, emptied=["n-a", "n-b"], by=drain)
    assert denied(plan, list(FOUR)) == []
