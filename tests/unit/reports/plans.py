"""One plan with everything in it, for the tables of this room and its neighbours."""

from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.diagnosis import Check, Outcome
from gitbot.model.plan.plan import (
    Bound,
    Drained,
    Hold,
    Move,
    NodeReasons,
    NodeRef,
    ObjectiveValue,
    PlacementPlan,
    RuleState,
    SnapshotRef,
    VmRef,
    Wave,
)
from gitbot.model.plan.problem import Pin
from gitbot.model.text.names import IntentRef

RULE = IntentRef(
    kind="ZoneAntiAffinity",
    namespace="customapp",
    name="mssql2016",
    file="intents/iberia/rules.yaml",
    line=1,
)
REQUEST = IntentRef(
    kind="MigrationRequest",
    namespace="customapp",
    name="db-to-scu",
    file="intents/iberia/requests.yaml",
    line=12,
)
STARTS = 1_764_968_400  # 2025-12-05T21:00:00Z


def vm(name: str) -> VmRef:
    return VmRef(namespace="customapp", name=name, uid=f"uid-{name}")


def node(number: int) -> NodeRef:
    zone = ("scu", "bcn", "sab")[(number - 1) // 2]
    return NodeRef(node=f"kni-worker{number}" if number > 1 else "kni-worker", zone=zone)


def move(
    number: int = 1, *, name: str = "mssql-c", source: int = 6, to: int = 2, wave: int = 0
) -> Move:
    return Move(
        id=number,
        request=RequestId.read("request/customapp/db-to-scu"),
        group="db-to-scu",
        intent=REQUEST,
        vm=vm(name),
        source=node(source),
        to=node(to),
        allowed_nodes=(node(to).node,),
        pin=Pin.NODE,
        added_node_selector={"kubernetes.io/hostname": node(to).node},
        memory_bytes=16 * 2**30,
        estimated_seconds=300,
        wave=wave,
        checks=(
            Check(name="live-migratable", outcome=Outcome.PASS, message="LiveMigratable is True"),
            Check(name="cpu-model", outcome=Outcome.WARN, message="vendor guard is off"),
        ),
        why="asked for by MigrationRequest customapp/db-to-scu",
    )


HOLD = Hold(
    request=RequestId.read("request/customapp/db-to-scu"),
    intent=REQUEST,
    vm=vm("mssql-a"),
    code="no-feasible-node",
    reason="no node of zone scu can take it",
    hint="choose another zone",
    nodes=(
        NodeReasons(node="kni-worker", reasons=("NodeAffinity: performance is absent",)),
        NodeReasons(node="kni-worker2", reasons=("mssql2016: zone scu has 1 of at most 1",)),
    ),
)
PLAN = PlacementPlan(
    cluster="iberia",
    moves=(move(), move(2, name="mssql-d", source=4, to=6, wave=1)),
    holds=(HOLD,),
    rules=(
        RuleState(
            intent=RULE,
            required=True,
            before=1,
            after=0,
            before_messages=("zone sab has 2 VMs, at most 1",),
        ),
    ),
    waves=(
        Wave(index=0, starts=STARTS, ends=STARTS + 300),
        Wave(index=1, starts=STARTS + 300, ends=STARTS + 600),
    ),
    bound=Bound(moves=2, seconds=600),
    minimised=tuple(
        ObjectiveValue(what=what, amount=amount)
        for what, amount in (
            ("newBreaches", 0),
            ("held", 1),
            ("moves", 2),
            ("memoryBytes", 32 * 2**30),
            ("softBreaches", 0),
            ("score", None),
        )
    ),
    drains=(
        Drained(
            request=RequestId.read("drain/firmware/2025-12-05T21:00Z"),
            emptied=("n1", "n2"),
            kept=("n3",),
        ),
    ),
    intents={RULE.id: "sha256:" + "a" * 64, REQUEST.id: "sha256:" + "b" * 64},
    snapshot=SnapshotRef(digest="sha256:" + "c" * 64, taken_at=STARTS - 60),
)
