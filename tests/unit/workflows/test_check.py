import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitbot.intents import IntentSet
from gitbot.intents.compile import RequestHistory
from gitbot.model.ledger.request_id import RequestId
from gitbot.model.plan.findings import Severity
from gitbot.published import read_plan
from gitbot.reports.html.page import html
from gitbot.snapshot import from_objects
from gitbot.workflows.check import CheckResult, PlanningInputs, check
from gitbot.workflows.core.revision import BundledTexts, Revision, Texts, read_change, read_revision
from tests.doubles.comments import markdown
from tests.doubles.problems import NOW, node, vm

ROOT = Path(__file__).parents[3]
CONFIGURATION = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: Configuration
metadata: {name: default}
spec:
  clusters:
  - name: iberia
    timeZone: Europe/Madrid
  manifests: [{path: vms}]
  mode: Enforce
"""
THEN = "0 blocked, rule breaks 1 → 1, then 0"
HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
RULE = f"""\
{HEAD}kind: ZoneAntiAffinity
metadata: {{name: db, namespace: default}}
spec:
  selector: {{matchLabels: {{tier: db}}}}
"""
REQUEST = f"""\
{HEAD}kind: MigrationRequest
metadata: {{name: web-to-n3, namespace: default}}
spec:
  vms: {{names: [web]}}
  target: {{node: n3}}
"""
IMPOSSIBLE = REQUEST.replace("[web]", "[db-1]").replace("web-to-n3", "db-to-n4").replace("n3", "n4")
WINDOW = f"""\
{HEAD}kind: MaintenanceWindow
metadata: {{name: firmware}}
spec:
  nodes: {{names: [n1]}}
"""
LATER = WINDOW + (
    '  schedule: {start: "2027-03-06T22:00", timeZone: Europe/Madrid, duration: PT4H}\n'
)
PROTECT = f"""\
{HEAD}kind: PlacementPolicy
metadata: {{name: no-web}}
spec:
  over: Move
  validations:
  - expression: vm.name != 'web'
    message: web stays
  validationActions: [Deny]
"""


def shipped(folder: str) -> dict[str, str]:
    where = ROOT / folder
    return {
        path.relative_to(where).as_posix(): path.read_text("utf-8")
        for path in sorted(where.rglob("*"))
        if path.is_file()
    }


SHIPPED = BundledTexts(policies=shipped("policies"), templates=shipped("templates"))
DB = {"tier": "db"}
OBJECTS = [
    node("n1", zone="a"),
    node("n2", zone="b"),
    node("n3", zone="c"),
    node("n4", zone="b"),
    *vm("web", on="n1"),
    *vm("db-1", on="n1", labels=DB),
    *vm("db-2", on="n2", labels=DB, migratable=False),  # cannot step aside
]


def evidence(objects: list[Any] | None = None, **more: Any) -> PlanningInputs:
    snapshot = from_objects("iberia", objects or OBJECTS, NOW)
    return PlanningInputs(snapshot=snapshot, now=NOW, **more)


def texts(*, policies: str = "", **intents: str) -> Texts:
    files = {f"intents/iberia/{name}.yaml": text.encode() for name, text in intents.items()}
    files[".gitbot.yaml"] = CONFIGURATION.encode()
    if policies:
        files["policies/p.yaml"] = policies.encode()
    return Texts(files=files)


def judged(
    head: Texts, base: Texts | None = None, *, cluster: str = "iberia", **more: Any
) -> CheckResult:
    trusted = read_revision(base or head, cluster=cluster, shipped=SHIPPED)
    assert isinstance(trusted, Revision)
    given: dict[str, Any] = {"evidence": evidence(), **more}
    if base is None:
        return check(trusted, **given)
    return check(read_change(head, trusted), before=trusted.intents, **given)


def run(
    intents: Mapping[str, str], *, base: Mapping[str, str] | None = None, **more: Any
) -> CheckResult:
    return judged(texts(**intents), None if base is None else texts(**base), **more)


def moves(result: CheckResult) -> list[str]:
    assert result.judged is not None, result.findings
    plan = result.judged.plan
    return [
        f"{move.request}: {move.vm.name} {move.source.node}>{move.to.node}" for move in plan.moves
    ]


def codes(result: CheckResult) -> list[str]:
    return [f"{finding.severity} {finding.code}" for finding in result.all_findings]


def test_a_request_in_the_working_tree_is_planned_judged_and_shown() -> None:
    result = run({"rule": RULE, "request": REQUEST})
    assert moves(result) == ["request/default/web-to-n3: web n1>n3"]
    assert (codes(result), result.fails(), result.plan_fails()) == ([], False, False)
    assert result.judged is not None
    document = read_plan(result.judged.file)
    assert document.plan == result.judged.plan
    assert [item["spec"]["vmiName"] for item in document.manifests] == ["web"]
    assert set(document.plan.intents) == {
        "MigrationRequest/default/web-to-n3",
        "ZoneAntiAffinity/default/db",
    }


def test_errors_in_texts_are_all_that_there_is() -> None:
    result = run({"rule": RULE.replace("tier: db", "tier: [db"), "request": REQUEST})
    assert result.judged is None
    assert result.fails()
    assert all(finding.file == "intents/iberia/rule.yaml" for finding in result.findings)


def test_a_hold_on_something_asked_for_fails_with_its_place() -> None:
    result = run({"rule": RULE, "request": IMPOSSIBLE})
    (finding,) = [item for item in result.all_findings if item.code.startswith("plan/")]
    assert (finding.severity, finding.file) == ("error", "intents/iberia/request.yaml")
    assert "default/db-1 cannot move" in finding.message
    assert result.fails()
    assert result.diff is not None
    assert result.diff.state == "blocked"


def test_a_breach_is_healed_in_the_tree_and_previewed_in_a_pull_request() -> None:
    objects = [*OBJECTS[:4], *vm("db-1", on="n2", labels=DB), *vm("db-2", on="n4", labels=DB)]
    whole = run({"rule": RULE}, evidence=evidence(objects))
    assert len(moves(whole)) == 1
    assert moves(whole)[0].startswith("heal/default/ZoneAntiAffinity/db: ")
    assert not whole.plan_fails()
    new = run({"rule": RULE}, base={}, evidence=evidence(objects))
    assert moves(new) == []
    assert codes(new) == ["warning plan/rule-broken"]
    assert (new.fails(), new.fails(on_warning=True), new.plan_fails()) == (False, True, True)
    assert [(item.title, len(item.plan.moves)) for item in new.previews] == [
        ("healing of ZoneAntiAffinity default/db", 1)
    ]


@pytest.mark.parametrize(
    ("heal", "counts"),
    [
        ("Propose", f"1 move follows in a healing pull request, {THEN}"),
        ("Auto", f"1 move follows by heal: Auto, {THEN}"),
        ("Report", "0 moves, 0 blocked, rule breaks 1 → 1"),
    ],
)  # fmt: skip
def test_the_first_line_says_what_follows_a_new_rule_that_is_broken(heal: str, counts: str) -> None:
    objects = [*OBJECTS[:4], *vm("db-1", on="n2", labels=DB), *vm("db-2", on="n4", labels=DB)]
    settings = {".gitbot.yaml": f"{CONFIGURATION}  allowAuto: true\n".encode()}
    head = {**texts(rule=f"{RULE}  heal: {heal}\n").files, **settings}
    new = judged(Texts(files=head), Texts(files=settings), evidence=evidence(objects))
    assert new.diff is not None
    assert new.diff.counts == counts


def test_a_preview_counts_with_what_the_pull_request_asks_for() -> None:
    objects = [
        node("n1", zone="a", unschedulable=True),
        node("n2", zone="b", memory="4Gi"),
        node("n4", zone="b", memory="4Gi"),
        node("n3", zone="c", cpu="1", memory="4Gi"),  # room for one of them
        *vm("web", on="n1", memory="3Gi"),
        *vm("db-1", on="n2", labels=DB, memory="3Gi"),
        *vm("db-2", on="n4", labels=DB, memory="3Gi"),
    ]
    alone = run({"rule": RULE}, base={}, evidence=evidence(objects))
    (preview,) = alone.previews
    assert [move.to.node for move in preview.plan.moves] == ["n3"]
    beside = run({"rule": RULE, "request": REQUEST}, base={}, evidence=evidence(objects))
    assert moves(beside) == ["request/default/web-to-n3: web n1>n3"]
    (preview,) = beside.previews
    assert preview.plan.moves == ()
    assert {hold.request for hold in preview.plan.holds} == {"heal/default/ZoneAntiAffinity/db"}


def test_a_pull_request_is_planned_for_what_it_adds_and_nothing_else() -> None:
    other = REQUEST.replace("web-to-n3", "web-to-n2").replace("node: n3", "node: n2")
    old = {"rule": RULE, "other": other}
    result = run({**old, "request": REQUEST}, base=old)
    assert moves(result) == ["request/default/web-to-n3: web n1>n3"]
    assert moves(run(old, base=old)) == []
    moved = {"elsewhere": RULE + "---\n" + other}
    assert moves(run(moved, base=old)) == []  # another file, the same intents


@pytest.mark.parametrize("recurs", [True, False])
def test_a_window_is_in_the_digest_of_a_pull_request_if_it_opens_once(recurs: bool) -> None:
    text = LATER.replace("PT4H", "PT4H, recurrence: FREQ=YEARLY") if recurs else LATER
    alone = run({"request": REQUEST}, base={})
    beside = run({"request": REQUEST, "window": text}, base={})
    assert alone.judged is not None
    assert beside.judged is not None
    assert (alone.judged.digest == beside.judged.digest) is recurs
    drained = "drain/firmware/20270306T210000Z empties n1"
    home = "way home after firmware, once its nodes are back"
    assert [item.title for item in beside.previews] == [drained if recurs else home]


def test_the_comment_says_which_openings_a_pull_request_changes() -> None:
    added = run({"request": REQUEST, "window": LATER}, base={}).diff
    moved = run({"window": LATER.replace("03-06T22", "03-07T21")}, base={"window": LATER}).diff
    same = run({"request": REQUEST, "window": LATER}, base={"window": LATER}).diff
    assert added is not None
    assert moved is not None
    assert same is not None
    opening = "Sat 6 Mar 2027 22:00-02:00 Europe/Madrid"
    assert added.openings == (f"window firmware: 1 appears: {opening}",)
    other = "Sun 7 Mar 2027 21:00-01:00 Europe/Madrid"
    assert moved.openings == (f"window firmware: 1 moves: {opening} to {other}",)
    assert same.openings == ()
    assert "<summary>Openings that change in the next 12 months</summary>" in markdown(added)
    assert "Openings that change" not in markdown(same)
    page = html(moved, templates=SHIPPED.templates)
    assert ">before firmware<" in page
    assert ">after firmware<" in page
    for kind, words in (("gone", opening), ("fresh", other)):
        assert re.search(rf'<rect class="{kind}" [^>]*><title>{words}</title>', page)
    assert ">before firmware<" not in html(same, templates=SHIPPED.templates)
    assert ">firmware<" in html(same, templates=SHIPPED.templates)


def test_a_window_that_cannot_be_emptied_fails_the_pull_request_that_adds_it() -> None:
    stuck = [*OBJECTS, *vm("pinned", on="n1", node_selector={"kubernetes.io/hostname": "n1"})]
    result = run({"window": WINDOW}, base={}, evidence=evidence(stuck))
    assert any(code.startswith("error plan/") for code in codes(result))
    assert result.fails()
    fine = run({"window": WINDOW}, base={})
    assert not fine.fails()


def test_drains_far_ahead_are_previews_in_the_tree_and_open_ones_are_planned() -> None:
    far = run({"window": LATER})
    assert (moves(far), len(far.previews)) == ([], 1)
    assert far.diff is not None
    assert far.diff.counts.startswith("2 moves follow when the window opens, 0 blocked")
    now = run({"window": WINDOW})
    assert {move.partition(":")[0] for move in moves(now)} == {"drain/firmware/unmerged"}
    assert now.judged is not None
    assert ("Node", "n1") in [(item.kind, item.name) for item in now.judged.manifests]


def test_finished_requests_are_not_planned_again() -> None:
    past = RequestHistory(finished=frozenset({RequestId.read("request/default/web-to-n3")}))
    assert moves(run({"request": REQUEST}, evidence=evidence(past=past))) == []


FREEZE = f"{HEAD}kind: FreezeWindow\nmetadata: {{name: quarter}}\nspec: "


@pytest.mark.parametrize(
    ("freeze", "frozen"),
    [
        ("{}", True),
        ("{namespaces: [default]}", True),
        ("{namespaces: [other]}", False),
        ('{schedule: {start: "2026-12-01T00:00", timeZone: UTC, duration: P10D}}', True),
        ('{schedule: {start: "2026-12-01T00:00", timeZone: UTC, duration: P1D}}', False),
        ('{schedule: {start: "2026-12-07T00:00", timeZone: UTC, duration: P1D}}', False),
    ],
)
def test_a_freeze_holds_the_unfinished_requests_that_it_covers(freeze: str, frozen: bool) -> None:
    deadline = '  deadline: "2026-12-07T00:00Z"\n'
    done = REQUEST.replace("web-to-n3", "done") + '  notBefore: "2026-12-05T00:00Z"\n' + deadline
    past = RequestHistory(finished=frozenset({RequestId.read("request/default/done")}))
    tree = {"request": REQUEST + deadline, "done": done, "freeze": FREEZE + freeze}
    result = run(tree, evidence=evidence(past=past))
    assert {finding.file for finding in result.all_findings} == (
        {"intents/iberia/request.yaml"} if frozen else set()
    )
    assert moves(result) == ([] if frozen else ["request/default/web-to-n3: web n1>n3"])
    assert "plan/frozen" in {finding.code for finding in result.all_findings} or not frozen


def test_a_request_whose_window_opens_too_late_is_reported_once() -> None:
    late = '  window: firmware\n  deadline: "2026-12-07T00:00Z"\n'
    schedule = '  schedule: {start: "2026-12-09T00:00", timeZone: UTC, duration: PT2H}\n'
    # the second request stands below the first, in the same file
    other = REQUEST.replace("web-to-n3", "soon")
    tree = {"request": f"{REQUEST}{late}---\n{other}", "window": WINDOW + schedule}
    assert codes(run(tree)).count("error intents/never-open") == 1


def test_policies_of_the_base_count_and_those_of_the_head_are_read() -> None:
    with_policy = texts(request=REQUEST, policies=PROTECT)
    assert codes(judged(with_policy)) == ["error policy/no-web"]
    assert codes(judged(with_policy, texts())) == []
    assert codes(judged(texts(request=REQUEST), with_policy)) == []
    denied = judged(texts(request=REQUEST), texts(policies=PROTECT))
    assert codes(denied) == ["error policy/no-web"]
    assert denied.diff is not None
    assert denied.diff.state == "denied"


def test_manifests_and_intents_in_one_pull_request_are_refused() -> None:
    paths = ("intents/iberia/request.yaml", "vms/web.yaml")
    result = run({"request": REQUEST}, base={}, changed=paths)
    assert "error check/manifests-and-intents" in codes(result)
    for one in paths:
        assert codes(run({"request": REQUEST}, base={}, changed=(one,))) == []


def test_a_node_that_stays_in_service_has_no_manifest() -> None:
    """db-2 cannot leave n2, so gitbot neither labels nor cordons n2."""
    window = WINDOW.replace("[n1]}", "[n1, n2, n4]}\n  drain: {cordon: Gitbot}")
    result = run({"window": window})
    assert result.judged is not None
    nodes = [item.name for item in result.judged.manifests if item.kind == "Node"]
    assert {move.source.node for move in result.judged.plan.moves} == {"n1"}
    assert nodes == ["n1", "n4"]


def test_labels_left_on_a_node_are_named() -> None:
    mark = {"placement.gitbot.dev/window": "gone", "placement.gitbot.dev/state": "ready"}
    objects = [node("n1", zone="a", labels=mark), *OBJECTS[1:]]
    result = run({"request": REQUEST}, evidence=evidence(objects))
    (finding,) = result.all_findings
    assert str(finding) == (
        "-: node n1 has the label placement.gitbot.dev/window=gone, and there is no such window; "
        "kubectl label node n1 placement.gitbot.dev/window- placement.gitbot.dev/state-"
    )
    assert not result.fails()
    mark["placement.gitbot.dev/window"] = "firmware"
    objects = [node("n1", zone="a", labels=mark), *OBJECTS[1:]]
    named = codes(run({"window": LATER}, evidence=evidence(objects)))
    assert "warning check/labels" not in named


def test_labels_of_a_drain_under_way_are_not_left_over() -> None:
    """A clone that is behind lacks the window; its nodes must keep their labels."""
    mark = {"placement.gitbot.dev/window": "firmware", "placement.gitbot.dev/state": "draining"}
    objects = [node("n1", zone="a", labels=mark), *OBJECTS[1:]]
    assert "warning check/labels" in codes(run({}, evidence=evidence(objects)))
    known = replace(evidence(objects), past=RequestHistory(emptying=frozenset({"firmware"})))
    assert "warning check/labels" not in codes(run({}, evidence=known))


def test_a_living_migration_with_other_labels_is_named() -> None:
    first = run({"request": REQUEST})
    assert first.judged is not None
    live = {**first.judged.manifests[0].object, "status": {"phase": "Succeeded"}}
    same = run({"request": REQUEST}, evidence=evidence([*OBJECTS, live]))
    assert "warning check/labels" not in codes(same)
    live["metadata"] = {
        **live["metadata"],
        "labels": {"placement.gitbot.dev/request": "request_default_other"},
    }
    other = run({"request": REQUEST}, evidence=evidence([*OBJECTS, live]))
    assert "warning check/labels" in codes(other)


def test_an_unknown_cluster_is_named() -> None:
    result = judged(texts(request=REQUEST), cluster="nope")
    assert codes(result) == ["error check/unknown-cluster"]


def test_an_old_snapshot_is_refused() -> None:
    snapshot = from_objects("iberia", OBJECTS, NOW - 3600)
    result = run({"request": REQUEST}, evidence=PlanningInputs(snapshot=snapshot, now=NOW))
    assert codes(result) == ["error policy/snapshot-age"]


@pytest.mark.parametrize("seed", [1, 2])
def test_same_inputs_same_bytes(seed: int) -> None:
    objects = OBJECTS[::-1] if seed == 2 else OBJECTS
    made = run({"rule": RULE, "request": REQUEST, "w": WINDOW}, evidence=evidence(objects)).judged
    again = run({"w": WINDOW, "request": REQUEST, "rule": RULE}).judged
    assert made is not None
    assert again is not None
    assert made.file == again.file


def test_a_pull_request_of_hundreds_of_windows_is_refused_before_it_is_planned() -> None:
    """Five nodes and 500 windows took two minutes: every window is planned by itself."""
    files = {f"w-{n}": WINDOW.replace("firmware", f"w-{n}") for n in range(500)}
    result = run(files, base={})
    assert codes(result) == ["error check/too-many-windows"]
    assert result.judged is None
    assert result.findings[0].message == (
        "found 500 new or changed windows and freezes, expected at most 50 in one pull request"
    )
    assert run(dict(list(files.items())[:5]), base={}).judged is not None
    stood = run({**files, "request": REQUEST}, base=files)
    assert moves(stood) == ["request/default/web-to-n3: web n1>n3"]


def test_what_hundreds_of_broken_rules_lead_to_is_not_planned_one_by_one() -> None:
    """2,000 rules took longer than 400 seconds: each preview is a plan under all rules."""
    databases = [*vm("db-1", on="n1", labels=DB), *vm("db-2", on="n1", labels=DB)]
    together = [*OBJECTS[:4], *databases]
    files = {f"db-{n}": RULE.replace("name: db", f"name: db-{n}") for n in range(60)}
    result = run(files, base={}, evidence=evidence(together))
    assert len(result.previews) == 50
    (finding,) = (each for each in result.findings if each.code == "check/not-previewed")
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "found 60 new or changed rules that are broken, expected at most 50 in one pull request: "
        "what 10 of them lead to is not shown"
    )
    stood = run(files, base=dict(list(files.items())[10:]), evidence=evidence(together))
    assert len(stood.previews) == 10
    assert "warning check/not-previewed" not in codes(stood)


def test_a_pull_request_of_many_requests_is_compared_with_the_base_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """19,000 requests took longer than 400 seconds: each was compared with the whole base."""
    asked: list[int] = []
    digests = IntentSet.digests.fget  # type: ignore[attr-defined]

    def counted(intents: IntentSet) -> Mapping[str, str]:
        asked.append(1)
        found: Mapping[str, str] = digests(intents)
        return found

    monkeypatch.setattr(IntentSet, "digests", property(counted))
    files = {f"q-{n}": REQUEST.replace("web-to-n3", f"q-{n}") for n in range(40)}
    assert run(files, base={}).judged is not None
    assert len(asked) < 10
