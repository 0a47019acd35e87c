"""Twelve nodes, maxNodesAtOnce 1; a failure, a restart and a slow node on the way."""

from pathlib import Path

from gitbot.model.ledger.events import NodeChanged
from tests.doubles.rack import RackSize, rack
from tests.doubles.trouble import fail_next_migration, restart_machine
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop
from tests.scenarios.maintenance import begun, nodes, pulls, reboot, tell, until, window

SIZE = RackSize(
    nodes=36, nodes_in_rack=12, machines=48, full_percent=50, not_migratable_percent=0, namespaces=1
)
SLOW = "node-015"
RACK = "selector: {matchLabels: {example.com/rack: r02}}"
ROUNDS = 40


def story(folder: Path) -> str:
    text = window(nodes=RACK, duration="P1D")
    loop, homes = begun(folder, rack(SIZE, start_time=START), window=text)
    until(loop, 2, "03:00 in Madrid: the lead begins")
    _trouble(loop)
    for _ in range(ROUNDS):
        loop.apply()
        ready = [node for node, state in nodes(loop).items() if state == "ready"]
        if not ready and not _merged(loop):
            break
        if ready:
            loop.port.sleep(3600 if SLOW in ready else 0)
            reboot(loop, *ready)
    loop.propose()
    tell(loop, homes)
    _never_two(loop)
    return loop.end()


def _merged(loop: Loop) -> bool:
    """Whether a person found something to merge: the rest of the drain, or a way home."""
    loop.propose()
    found = [*pulls(loop, "rest"), *pulls(loop, "return")]
    for pull in found:
        loop.merge(pull.number)
    return bool(found)


def _trouble(loop: Loop) -> None:
    order = loop.planned("drain/firmware/20261201T030000Z")
    for vm, what in ((order[0], "fails"), (order[9], "restarts")):
        namespace, _, name = vm.partition("/")
        if what == "fails":
            fail_next_migration(loop.cluster, name, namespace, reason="the guest is too busy")
        else:
            restart_machine(loop.cluster, name, namespace)
    loop.cluster.settle()
    loop.say(f"the first migration of {order[0]} will fail; {order[9]} restarts before its turn")


def _never_two(loop: Loop) -> None:
    """By the ledger, a node begins only when the one before it is back."""
    out: set[str] = set()
    served: list[str] = []
    for event in loop.events():
        if isinstance(event, NodeChanged):
            if event.state in ("draining", "ready"):
                out.add(event.facts.node)
            else:
                out.discard(event.facts.node)
                served.append(event.facts.node)
            assert len(out) <= 1, f"{out} at once"
    loop.say(f"served one by one: {', '.join(dict.fromkeys(served))}")
