"""Which merges are asked about, and what is read of them."""

from dataclasses import replace
from typing import Any

import pytest

from gitbot.errors import LedgerError, RepositoryError
from gitbot.intents.file_layout import proposal_file
from gitbot.model.ledger.events import ConcernChanged, ConcernState, LedgerEvent, PlanShown, Shown
from gitbot.model.ledger.ledger import Ledger, concern_file, pull_file
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.plan import PlacementPlan
from gitbot.ports.forge import MergeMethod, PullState
from gitbot.published import PlanInputs, plan_bytes, plan_digest, plan_document
from gitbot.workflows.apply import apply
from gitbot.workflows.approval.read_approvals import (
    Approvals,
    concern_branch,
    first_pull,
    read_approvals,
    read_proposal,
)
from gitbot.workflows.check import publish
from gitbot.workflows.ledger.kept_plans import plan_of
from gitbot.workflows.propose import propose
from tests.doubles.intents import REQUEST, RULE
from tests.doubles.moves import a_move
from tests.doubles.stage import Stage, a_plan
from tests.doubles.tiny_cluster import NOW
from tests.unit.workflows.story import Story


def shown(number: int, cluster: str = "prod") -> PlanShown:
    stands = Shown(head="h", base="b", expires_at="2026-10-01T00:00:00Z")
    return PlanShown(
        file=pull_file(number), time=1, cluster=cluster, pull_request=number, shown=stands
    )


def concern(state: ConcernState, name: str, number: int = 0) -> ConcernChanged:
    file = concern_file("prod", name)
    return ConcernChanged(file=file, time=1, cluster="prod", state=state, pull_request=number)


DRAIN, HEAL = "drain-w-1", "heal-x"


@pytest.mark.parametrize(
    ("events", "first"),
    [
        ((), 1),
        ((shown(812), shown(815)), 812),
        ((shown(3, "other"), shown(9)), 9),
        ((concern(ConcernState.OBSERVED, DRAIN), concern(ConcernState.PROPOSED, DRAIN),
         concern(ConcernState.OPENED, DRAIN, 700)), 700),
        # opened, but the run ended before its number was written down
        ((concern(ConcernState.PROPOSED, DRAIN), shown(812)), 1),
        ((concern(ConcernState.PROPOSED, DRAIN), concern(ConcernState.OPENED, DRAIN, 700),
         concern(ConcernState.PROPOSED, HEAL)), 1),
    ],
)  # fmt: skip
def test_the_first_that_may_approve_something(events: tuple[LedgerEvent, ...], first: int) -> None:
    assert first_pull(Ledger(events=events), "prod") == first


def test_a_pass_does_not_list_what_was_merged_before_gitbot_came(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin()
    for number in range(3):
        old = story.open(f"old{number}", **{f"docs/{number}.md": "old\n"})
        story.merge(old.number)
    pull = story.open(jump=REQUEST)
    publish(story.shell, number=pull.number)
    story.merge(pull.number)
    asked: list[int] = []
    listed = story.forge.list_pulls

    def noted(**what: Any) -> Any:
        found = listed(**what)
        asked.extend(item.number for item in found)
        return found

    monkeypatch.setattr(story.forge, "list_pulls", noted)
    assert apply(story.shell).states == {"succeeded": 1}
    assert set(asked) == {pull.number}


def read(stage: Stage) -> Approvals:
    shell = stage.shell
    base = shell.read_base(stage.repository.commit("main").id)
    return read_approvals(shell, base, stage.store.read())


@pytest.fixture
def stage() -> Stage:
    return Stage.of(nodes={"a": "east", "b": "west"}, vms={"one": "a", "two": "a"})


def plan(vm: str = "one") -> PlacementPlan:
    return a_plan(a_move(vm, "a", "b", request=RequestId.read(f"request/db/{vm}")))


def by_gitbot(stage: Stage, branch: str, *, account: str = "gitbot", data: bytes = b"") -> None:
    """A merged pull request of a branch; `data` is the proposal file of the concern x."""
    head = stage.repository.write_commit(
        branch=branch,
        expected=None,
        files={**stage.repository.read_tree("main"), **({FILE: data} if data else {}), "n": b"1"},
        message=branch,
        time=stage.clock.now(),
        parents=(stage.repository.commit("main").id,),
    )
    stage.forge.account = account
    pull = stage.forge.open_pull(
        branch=branch, base_branch="main", title=branch, body="", labels=()
    )
    stage.forge.merge_pull(pull.number, method=MergeMethod.MERGE, expected_head=head)
    stage.forge.account = "gitbot"


FILE, BRANCH = proposal_file("prod", "x"), concern_branch("prod", "x")


def test_approvals_stand_in_the_order_of_their_time(stage: Stage) -> None:
    """What gitbot approved by itself is read last, and may be the oldest."""
    alone = plan("two")
    digest, data = plan_digest(alone, ()), stored(alone)
    earlier = ConcernChanged(
        file=concern_file("prod", "x"),
        time=stage.clock.now() - 60,
        cluster="prod",
        state=ConcernState.AUTO,
        digest=digest,
        commit=stage.repository.commit("main").id,
    )
    stage.store.append(stage.store.read(), (earlier,), {digest: data})
    stage.approve(plan("one"))
    assert [item.id for item in read(stage).approved] == ["request/db/two", "request/db/one"]


def test_a_merge_into_another_branch_approves_nothing(stage: Stage) -> None:
    stage.approve(plan())
    (merged,) = stage.forge.list_pulls(state=PullState.MERGED)
    stage.forge._pulls[1] = replace(stage.forge._pulls[1], base_branch="release")
    assert merged.base_branch == "main"
    assert read(stage) == Approvals(approved=(), refused=())


def test_a_merge_that_nobody_planned_is_not_told_of(stage: Stage) -> None:
    stage.approve(plan(), records=False)
    assert read(stage) == Approvals(approved=(), refused=())


def test_a_merge_of_ended_requests_is_not_asked_about_again(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.approve(plan())
    assert apply(stage.shell).states == {"succeeded": 1}
    monkeypatch.delattr(stage.forge.__class__, "get_pull")
    assert [item.id for item in read(stage).approved] == ["request/db/one"]


def test_a_plan_that_was_shown_and_is_not_in_the_ledger_has_not_ended(stage: Stage) -> None:
    stage.approve(plan())
    ledger = stage.store.read()
    shell = stage.shell
    base = shell.read_base(stage.repository.commit("main").id)
    found = read_approvals(shell, base, ledger.replace(plans={}))
    (refused,) = found.refused
    assert refused.reason.startswith("nothing is approved: the ledger knows no plan sha256:")


def test_nothing_is_approved_while_the_forge_says_two_things_of_a_merge(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.approve(plan())
    whole = stage.forge.get_pull(1)
    monkeypatch.setattr(
        stage.forge, "get_pull", lambda _: replace(whole, merged_at=whole.merged_at + 1)
    )
    found = read(stage)
    (refused,) = found.refused
    assert found.approved == ()
    assert refused.unsure
    assert "do not agree yet" in refused.reason


def test_the_files_of_proposals_are_not_read_for_a_persons_merge(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.approve(plan())

    read_blob = stage.repository.read_blob

    def broken(rev: str, path: str) -> bytes | None:
        if path.startswith("intents/"):
            raise RepositoryError(f"{rev}: {path} cannot be read")
        return read_blob(rev, path)

    monkeypatch.setattr(stage.repository, "read_blob", broken)
    assert [item.id for item in read(stage).approved] == ["request/db/one"]


def test_gitbots_merge_without_its_file_approves_nothing(stage: Stage) -> None:
    by_gitbot(stage, BRANCH)
    (refused,) = read(stage).refused
    assert refused.reason.startswith("nothing is approved: no plan was shown for the merged head")


@pytest.mark.parametrize("data", [b"\n", b"spec: {digest: x, expiresAt: never}\n"])
def test_a_file_that_holds_no_proposal_approves_nothing(stage: Stage, data: bytes) -> None:
    by_gitbot(stage, BRANCH, data=data)
    assert read(stage).approved == ()
    ledger = stage.store.read()
    merged = stage.forge.get_pull(1).merge_commit
    found = read_proposal(stage.shell, ledger, merged, "x")
    assert found is None or found.digest == ""


@pytest.mark.parametrize(
    ("branch", "account"), [(BRANCH, "ann"), ("work", "gitbot"), ("gitbot/pull/other/x", "gitbot")]
)
def test_only_gitbots_own_branch_proposes(stage: Stage, branch: str, account: str) -> None:
    by_gitbot(stage, branch, account=account)
    assert read(stage) == Approvals(approved=(), refused=())


def test_a_plan_under_another_digest_is_damage(stage: Stage) -> None:
    stage.approve(plan())
    other = plan("two")
    (digest,) = stage.store.read().plans
    damaged = stage.store.read().replace(plans={digest: stored(other)})
    with pytest.raises(LedgerError, match=f"{digest}.json holds the plan {plan_digest(other, ())}"):
        plan_of(damaged, digest)


def stored(made: PlacementPlan) -> bytes:
    document = plan_document(made, manifests=(), expires_at=NOW + 86_400, inputs=PlanInputs())
    return plan_bytes(document)


def test_of_a_plan_that_lapsed_each_request_is_taken_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both began; the forge no longer lists the merge."""
    moves = [
        a_move(vm, "a", "b", number=1, request=RequestId.read(f"request/db/{vm}"), group=vm)
        for vm in ("one", "two")
    ]
    stage.approve(a_plan(*moves))
    stage.cluster.stuck = {"one", "two"}
    apply(stage.shell, max_runtime=7)
    monkeypatch.setattr(stage.forge, "list_pulls", lambda **_: ())
    found = read(stage).approved
    assert [(item.id, bool(item.terms.paused)) for item in found] == [
        ("request/db/one", True),
        ("request/db/two", True),
    ]


def test_reviews_that_count_no_more_only_pause_what_has_begun(stage: Stage) -> None:
    stage.approve(plan())
    stage.cluster.stuck = {"one"}
    apply(stage.shell, max_runtime=7)
    stage.forge.require_reviews(1)
    (found,) = read(stage).approved
    assert "1 approvals of the merged head" in found.terms.paused
    assert found.terms.void == ""
    stage.forge.require_reviews(0)
    (found,) = read(stage).approved
    assert (found.terms.paused, found.terms.void) == ("", "")


def test_a_proposal_need_not_expire(stage: Stage) -> None:
    by_gitbot(stage, BRANCH, data=b"spec: {digest: x}\n")
    merged = stage.forge.get_pull(1).merge_commit
    found = read_proposal(stage.shell, stage.store.read(), merged, "x")
    assert found is not None
    assert (found.digest, found.expires_at) == ("x", 0)


def test_the_head_is_the_merged_one_also_if_somebody_pushed_since(stage: Stage) -> None:
    stage.approve(plan())
    merged = stage.forge._pulls[1]
    assert merged.head == merged.merged_head
    stage.forge._pulls[1] = replace(merged, head="of a later push")
    assert [item.id for item in read(stage).approved] == ["request/db/one"]


def test_a_person_cannot_write_a_proposal_for_no_concern(stage: Stage) -> None:
    """The file is named as that of a concern without a name."""
    stage.approve(plan(), records=False)
    (digest,) = stage.store.read().plans
    by_gitbot(stage, "work2", account="ann")
    merged = stage.forge._pulls[2]
    nameless = proposal_file("prod", "")
    stage.repository.write_commit(
        branch="work3",
        expected=None,
        files={nameless: f"spec: {{digest: '{digest}'}}\n".encode()},
        message="nameless",
        time=stage.clock.now(),
        parents=(merged.merge_commit,),
    )
    record = PlanShown(
        file=pull_file(2),
        time=stage.clock.now(),
        cluster="prod",
        pull_request=2,
        shown=Shown(head="another", base="b", expires_at="2026-10-01T00:00:00Z"),
    )
    stage.store.append(stage.store.read(), (record,), {})
    commit = stage.repository.resolve("work3")
    assert commit is not None
    stage.forge._pulls[2] = replace(merged, merge_commit=commit)
    stage.repository.branches["main"] = commit
    found = read(stage)
    assert found.approved == ()
    (refused,) = found.refused
    assert refused.reason.startswith("nothing is approved: no plan was shown for the merged head")


def test_gitbots_own_merge_is_not_asked_about_again_when_it_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story.begin(db=RULE)
    propose(story.shell)
    story.merge()
    assert apply(story.shell).states["succeeded"]
    monkeypatch.delattr(story.forge.__class__, "get_pull")
    shell = story.shell
    base = shell.read_base(story.repository.commit("main").id)
    assert read_approvals(shell, base, story.store.read()).approved


@pytest.mark.parametrize("damage", [b'"\\ud800"', b"[" * 100_000])
def test_a_plan_with_half_a_sign_or_without_an_end_is_damage(stage: Stage, damage: bytes) -> None:
    data = stored(plan()).replace(b'"one"', damage)
    with pytest.raises(LedgerError, match=r"plans/x\.json"):
        plan_of(Ledger(plans={"x": data}), "x")


def test_a_merge_whose_commit_the_forge_does_not_name_is_told_of(stage: Stage) -> None:
    stage.approve(plan())
    stage.forge._pulls[1] = replace(stage.forge._pulls[1], merge_commit="")
    (refused,) = read(stage).refused
    assert refused.unsure
    assert refused.reason == (
        "nothing is approved: the forge does not say which commit its merge is"
    )
