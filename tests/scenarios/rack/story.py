"""Propose, merge, apply node by node with troubles in mid-run, then the return."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from gitbot.kubernetes.objects import at, labels_of
from gitbot.model.ledger.events import LedgerEvent, NodeChanged, NodeState
from gitbot.ports.forge import PullRequest, PullState
from gitbot.published.ledger_lines import line_value
from tests.doubles.rack import RackSize, rack
from tests.doubles.trouble import (
    evict_instance,
    fail_next_migration,
    lose_node,
    restart_machine,
    return_node,
)
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop
from tests.scenarios.rack.watch import Watch

WINDOW = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: rack-r03}
spec:
  nodes: {selector: {matchLabels: {example.com/rack: r03}}}
  schedule: {start: "2026-12-01T04:00", timeZone: Europe/Madrid, duration: P1D}
  drain:
    lead: PT1H
    maxNodesAtOnce: 3
    cordon: Gitbot
    notMigratable: LeaveRunning
    done: Rebooted
  returnHome: Propose
"""
RULE = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: ZoneAntiAffinity
metadata: {name: quorum, namespace: team-00}
spec:
  selector: {matchLabels: {example.com/tier: quorum}}
  heal: Report
"""
DRAIN = "drain/rack-r03/20261201T030000Z"
STATE = "placement.gitbot.dev/state"
ROUNDS = 30
COMMIT = re.compile(r'commit: "?[0-9a-f]{40}"?')
USUAL = re.compile(r"  \S+/\S+:? .*?(approved|created|running|succeeded|waits)(: .*)?")


def story(folder: Path, size: RackSize | None = None) -> dict[str, str]:
    """Tell the story: the files that are compared."""
    loop = Loop.start(folder, rack(size, start_time=START))
    loop.commit({"window.yaml": WINDOW, "rule.yaml": RULE})
    nodes = _rack_nodes(loop)
    on_rack = {vm: node for vm, node in loop.where().items() if node in nodes}
    watch = Watch(cluster=loop.cluster, rack=frozenset(nodes))
    watch.start()
    loop.say(f"on the rack: {len(nodes)} nodes, {len(on_rack)} VMs")
    loop.propose()
    (drain,) = loop.forge.list_pulls()
    comment = _comment(loop, drain)
    loop.merge(drain.number)
    loop.port.sleep(2 * 3600)
    touched = _plan_troubles(loop)
    _until_quiet(loop)
    _merge(loop, "rest")
    _until_quiet(loop)
    (back,) = _merge(loop, "return")
    assert all(vm in back.body for vm in touched), "who stays is listed"
    _until_quiet(loop)
    _tell_who_is_home(loop, on_rack, touched)
    _nothing_is_left(loop, nodes)
    _limits_were_kept(loop, watch)
    return {
        "comment.md": comment,
        "return.md": f"{back.body}\n{_comment(loop, back)}",
        "ledger.txt": "".join(_line(event) for event in loop.events()),
        "story.txt": _shortened(loop.end()),
    }


def _rack_nodes(loop: Loop) -> list[str]:
    nodes = loop.cluster.list("Node")
    return [
        node["metadata"]["name"]
        for node in nodes
        if labels_of(node).get("example.com/rack") == "r03"
    ]


def _plan_troubles(loop: Loop) -> tuple[str, ...]:
    """A migration fails; a VM restarts before its turn, one after it; one is evacuated elsewhere.

    Returns the VMs that somebody else touched after gitbot had moved them.
    """
    order = loop.planned(DRAIN)
    failing, evicted, again, early = order[0], order[2], order[7], order[90]
    cluster, start = loop.cluster, loop.port.now()
    fail_next_migration(cluster, *_pair(failing), reason="the guest dirties memory too fast")
    cluster.at(start + 100, lambda: restart_machine(cluster, *_pair(early)))
    cluster.at(start + 160, lambda: _evict(loop, evicted))
    cluster.at(start + 200, lambda: restart_machine(cluster, *_pair(again)))
    loop.say(f"the first migration of {failing} will fail")
    loop.say(f"{early} will restart before its turn, {again} after it was moved")
    loop.say(f"{evicted} will be evacuated by somebody else after it was moved")
    return evicted, again


def _pair(vm: str) -> tuple[str, str]:
    namespace, _, name = vm.partition("/")
    return name, namespace


def _evict(loop: Loop, vm: str) -> None:
    evict_instance(loop.cluster, *_pair(vm))


def _until_quiet(loop: Loop) -> None:
    """Apply again and again; nodes that are ready are rebooted meanwhile."""
    for _ in range(ROUNDS):
        result = loop.apply()
        ready = _ready(loop)
        loop.port.sleep(60)
        for node in ready:
            lose_node(loop.cluster, node)
        loop.port.sleep(240)
        for node in ready:
            return_node(loop.cluster, node)
        if ready:
            loop.say(f"rebooted: {', '.join(ready)}")
        elif result.did_nothing:
            return
    raise AssertionError(f"not quiet after {ROUNDS} passes")


def _ready(loop: Loop) -> list[str]:
    """Nodes that gitbot says are ready for their maintenance."""
    nodes = [node for node in loop.cluster.list("Node") if labels_of(node).get(STATE) == "ready"]
    assert all(at(node, "spec", "unschedulable") for node in nodes), "ready, but not cordoned"
    return [node["metadata"]["name"] for node in nodes]


def _merge(loop: Loop, kind: str) -> tuple[PullRequest, ...]:
    """The bot proposes; a person merges what is of that kind."""
    loop.propose()
    pulls = [
        pull
        for pull in loop.forge.list_pulls(state=PullState.OPEN)
        if pull.branch.rpartition("/")[2].startswith(kind)
    ]
    assert pulls, f"nothing of kind {kind} was proposed"
    for pull in pulls:
        loop.say(f"#{pull.number} says: {pull.body.partition(chr(10))[0]}")
        loop.merge(pull.number)
    return tuple(pulls)


def _comment(loop: Loop, pull: PullRequest) -> str:
    """The comment; commits are left out, they change with every word that is committed."""
    (comment,) = loop.forge.list_comments(pull.number)
    assert len(comment.body) < 65_536
    return COMMIT.sub("commit: ...", comment.body)


def _tell_who_is_home(loop: Loop, on_rack: dict[str, str], touched: Iterable[str]) -> None:
    where = loop.where()
    home = [vm for vm, node in on_rack.items() if where[vm] == node]
    loop.say(f"at home: {len(home)} of {len(on_rack)} VMs")
    for vm in sorted(set(on_rack) - set(home)):
        loop.say(f"  {vm} is on {where[vm]}, its home was {on_rack[vm]}")
    strangers = [vm for vm, node in where.items() if node in on_rack.values() and vm not in on_rack]
    loop.say(f"on the rack, but not before: {', '.join(sorted(strangers)) or 'nobody'}")
    assert not set(touched) & set(home), "gitbot moved what somebody else had moved"


def _nothing_is_left(loop: Loop, nodes: list[str]) -> None:
    """The nodes serve as before, nobody asks for anything, and a further pass writes nothing."""
    for node in loop.cluster.list("Node"):
        assert not at(node, "spec", "unschedulable"), f"{node['metadata']['name']} is cordoned"
        assert STATE not in labels_of(node)
    loop.propose()
    assert not loop.forge.list_pulls(state=PullState.OPEN)
    before = loop.shell.ledger_store.read().head
    assert loop.apply().did_nothing
    assert loop.shell.ledger_store.read().head == before
    returned = {
        event.facts.node
        for event in loop.events()
        if isinstance(event, NodeChanged) and event.state is NodeState.RETURNED
    }
    assert returned == set(nodes)


def _limits_were_kept(loop: Loop, watch: Watch) -> None:
    assert watch.own <= 4, "five in the cluster, one slot left free for others"
    assert watch.all <= 5
    assert watch.out_of <= 2
    assert watch.away <= 3
    assert watch.beside_foreign, "somebody else's migration ran while gitbot's did"
    loop.say(
        f"at once, at most: {watch.own} migrations of gitbot, {watch.all} of all, "
        f"{watch.out_of} out of one node, {watch.away} nodes of the rack out of service"
    )


def _line(event: LedgerEvent) -> str:
    line = line_value(event)
    ends = line.get("landed") or line.get("to", "")
    place = f" {line.get('from', '')} -> {ends}" if "vm" in line and ends else ""
    node = f" {event.facts.node}" if isinstance(event, NodeChanged) else ""
    reason = f" ({line['reason']})" if "reason" in line else ""
    what = line.get("vm", event.file)
    return f"{event.seq} {line['time']} {event.state} {what}{node}{place}{reason}\n"


def _shortened(told: str) -> str:
    """The story with what went as usual counted: at the end of each command's lines."""
    lines: list[str] = []
    usual: Counter[str] = Counter()
    for line in [*told.splitlines(), ""]:
        found = USUAL.fullmatch(line)
        if found:
            usual[found[1]] += 1
            continue
        if usual and not line.startswith("  "):
            lines.append("  " + ", ".join(f"{usual[word]} {word}" for word in sorted(usual)))
            usual.clear()
        lines.append(line)
    return "\n".join(lines)
