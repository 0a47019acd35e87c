"""Reading back what was written gives the plan, and the digest knows what it is about."""

from dataclasses import replace

import jsonschema  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from gitbot.model.ledger.request_id import (
    DrainId,
    HealId,
    MigrationRequestId,
    OccurrenceId,
    ReturnId,
)
from gitbot.model.plan.diagnosis import Check, Outcome
from gitbot.model.plan.plan import (
    Bound,
    Hold,
    Move,
    NodeReasons,
    NodeRef,
    PlacementPlan,
    RuleState,
    SnapshotRef,
    VmRef,
    Wave,
)
from gitbot.model.plan.problem import Limits, Pin
from gitbot.model.text.instants import FOREVER
from gitbot.model.text.names import IntentRef
from gitbot.published import (
    PlanInputs,
    plan_bytes,
    plan_digest,
    plan_document,
    read_plan,
    schema_of,
)

VALIDATOR = jsonschema.Draft202012Validator(schema_of("PlacementPlan"))
TEXT = st.text(max_size=6)
COUNT = st.integers(min_value=0, max_value=2**62)
INSTANT = st.integers(min_value=0, max_value=FOREVER)
TEXTS = st.lists(TEXT, max_size=2).map(tuple)
MAP = st.dictionaries(TEXT, TEXT, max_size=2)
PART = st.text(st.characters(exclude_characters="/", codec="utf-8"), max_size=6)
OCCURRENCE = st.builds(OccurrenceId, window=PART, id=PART)
REQUEST = st.one_of(
    st.builds(MigrationRequestId, namespace=PART, name=PART),
    st.builds(DrainId, occurrence=OCCURRENCE),
    st.builds(ReturnId, occurrence=OCCURRENCE),
    st.builds(HealId, namespace=PART, kind=PART, name=PART),
)
DIGEST = st.binary(min_size=32, max_size=32).map(lambda data: "sha256:" + data.hex())
INTENT = st.builds(IntentRef, kind=TEXT, namespace=TEXT, name=TEXT, file=TEXT, line=COUNT)
VM = st.builds(VmRef, namespace=TEXT, name=TEXT, uid=TEXT)
NODE = st.builds(NodeRef, node=TEXT, zone=TEXT)
CHECK = st.builds(Check, name=TEXT, outcome=st.sampled_from(Outcome), message=TEXT)
MOVE = st.builds(
    Move,
    id=st.integers(min_value=1, max_value=2**31),
    request=REQUEST,
    group=TEXT,
    intent=INTENT,
    vm=VM,
    source=NODE,
    to=NODE,
    allowed_nodes=TEXTS,
    pin=st.sampled_from(Pin),
    added_node_selector=MAP,
    memory_bytes=COUNT,
    estimated_seconds=COUNT,
    wave=COUNT,
    checks=st.lists(CHECK, max_size=2).map(tuple),
    why=TEXT,
)
HOLD = st.builds(
    Hold,
    request=REQUEST,
    intent=INTENT,
    vm=VM,
    code=TEXT,
    reason=TEXT,
    nodes=st.lists(st.builds(NodeReasons, node=TEXT, reasons=TEXTS), max_size=2).map(tuple),
    asked=st.booleans(),
    hint=TEXT,
    proven=st.booleans(),
)
RULE = st.builds(
    RuleState,
    intent=INTENT,
    required=st.booleans(),
    before=COUNT,
    after=COUNT,
    before_messages=TEXTS,
    after_messages=TEXTS,
)
PLAN = st.builds(
    PlacementPlan,
    cluster=TEXT,
    moves=st.lists(MOVE, max_size=3).map(tuple),
    holds=st.lists(HOLD, max_size=2).map(tuple),
    rules=st.lists(RULE, max_size=2).map(tuple),
    waves=st.lists(st.builds(Wave, index=COUNT, starts=INSTANT, ends=INSTANT), max_size=2).map(
        tuple
    ),
    bound=st.builds(Bound, moves=COUNT, seconds=COUNT),
    limits=st.builds(
        Limits,
        parallel=COUNT,
        per_source_node=COUNT,
        per_target_node=COUNT,
        per_zone=COUNT,
        reserve=COUNT,
    ),
    intents=st.dictionaries(TEXT, DIGEST, max_size=2),
    snapshot=st.builds(SnapshotRef, digest=TEXT, taken_at=INSTANT),
)


@given(plan=PLAN, expires_at=INSTANT, commit=TEXT, engine=MAP)
def test_decode_of_encode_is_the_plan(
    plan: PlacementPlan, expires_at: int, commit: str, engine: dict[str, str]
) -> None:
    inputs = PlanInputs(commit=commit, engine=engine)
    document = plan_document(plan, manifests=(), expires_at=expires_at, inputs=inputs)
    VALIDATOR.validate(document)
    read = read_plan(plan_bytes(document))
    assert (read.plan, read.expires_at, read.inputs) == (plan, expires_at, inputs)


@given(plan=PLAN, other=PLAN)
def test_digest_is_blind_to_times_holds_and_estimates(
    plan: PlacementPlan, other: PlacementPlan
) -> None:
    same = replace(
        plan,
        holds=other.holds,
        waves=other.waves,
        bound=other.bound,
        limits=other.limits,
        snapshot=other.snapshot,
    )
    assert plan_digest(same, ()) == plan_digest(plan, ())
    if plan.moves:
        assert plan_digest(replace(plan, moves=plan.moves[1:]), ()) != plan_digest(plan, ())
