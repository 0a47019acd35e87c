"""Proposals: written for people, read back as the same moves."""

from dataclasses import replace
from pathlib import Path

from gitbot.intents import proposal_file, read_intents
from gitbot.intents.kinds.placement_proposal.spec import PlacementProposalSpec, ProposedMove
from gitbot.intents.proposals import Proposal, write_proposal
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import Move, NodeRef, VmRef
from gitbot.model.plan.problem import Pin
from gitbot.model.text.names import IntentRef
from gitbot.settings import ClusterSettings, Settings

SETTINGS = Settings(clusters=(ClusterSettings(name="prod"),))
INTENT = IntentRef(kind="MaintenanceWindow", namespace="", name="scu-firmware")


def move(number: int, why: str = "") -> Move:
    return Move(
        id=number,
        request=RequestId.read("drain/scu-firmware/20261206T210000Z"),
        group="node kni-worker",
        intent=INTENT,
        vm=VmRef(namespace="customapp", name=f"db-{number}", uid=f"0{number}"),
        source=NodeRef(node="kni-worker", zone="scu"),
        to=NodeRef(node="kni-worker3", zone=""),
        allowed_nodes=("kni-worker3",),
        pin=Pin.NODE,
        added_node_selector={"kubernetes.io/hostname": "kni-worker3"},
        memory_bytes=0,
        estimated_seconds=0,
        wave=number - 1,
        why=why,
    )


PROPOSAL = Proposal(
    concern="drain-scu-firmware-20261206T210000Z",
    intent=INTENT,
    request=RequestId.read("drain/scu-firmware/20261206T210000Z"),
    occurrence="20261206T210000Z",
    digest="sha256:" + "0" * 64,
    expires_at=1_796_497_200,
    moves=(move(1), move(2, why='`rm -rf` "quoted" <b>@all</b>: no')),
)


def proposal_of(name: str, spec: PlacementProposalSpec) -> Proposal:
    """The proposal in a file's spec. Estimates and memory are not in the file and become 0."""
    intent = IntentRef(
        kind=spec.intent.kind, namespace=spec.intent.namespace or "", name=spec.intent.name
    )
    return Proposal(
        concern=name,
        intent=intent,
        request=RequestId.read(spec.request),
        occurrence=spec.occurrence or "",
        digest=spec.digest,
        expires_at=spec.expires_at,
        moves=tuple(_model_move(move, intent) for move in spec.moves),
    )


def _model_move(move: ProposedMove, intent: IntentRef) -> Move:
    return Move(
        id=move.id,
        request=RequestId.read(move.request),
        group=move.group,
        intent=intent,
        vm=VmRef(namespace=move.vm.namespace, name=move.vm.name, uid=move.vm.uid),
        source=NodeRef(node=move.source.node, zone=move.source.zone),
        to=NodeRef(node=move.to.node, zone=move.to.zone),
        allowed_nodes=move.allowed_nodes,
        pin=Pin(move.pin),
        added_node_selector=dict(move.added_node_selector),
        memory_bytes=0,
        estimated_seconds=0,
        wave=move.wave,
        why=move.why,
    )


def read_back(text: str) -> Proposal:
    path = proposal_file("prod", PROPOSAL.concern)
    intents, findings = read_intents({path: text.encode()}, SETTINGS, "prod")
    assert findings == ()
    ((intent, spec),) = intents.proposals
    return proposal_of(intent.ref.name, spec)


def test_a_proposal_is_read_back_as_it_was() -> None:
    assert read_back(write_proposal(PROPOSAL)) == PROPOSAL


def test_same_proposal_same_bytes() -> None:
    assert write_proposal(PROPOSAL) == write_proposal(read_back(write_proposal(PROPOSAL)))


def test_the_plan_of_a_whole_zone_is_not_too_large() -> None:
    whole = replace(PROPOSAL, moves=tuple(move(number + 1) for number in range(2_000)))
    assert read_back(write_proposal(whole)) == whole


def test_times_are_quoted_and_uids_are_text() -> None:
    text = write_proposal(PROPOSAL)
    assert '  expiresAt: "2026-12-05T19:00:00Z"\n' in text
    assert '      uid: "01"\n' in text


def test_the_example_is_what_is_written() -> None:
    root = Path(__file__).parents[3]
    example = (root / "examples/valid/placement-proposal/healing.yaml").read_bytes()
    concern = "heal-ZoneAntiAffinity-customapp-mssql2016"
    path = proposal_file("prod", concern)
    intents, findings = read_intents({path: example}, SETTINGS, "prod")
    assert findings == ()
    ((intent, spec),) = intents.proposals
    assert write_proposal(proposal_of(intent.ref.name, spec)) == example.decode()
