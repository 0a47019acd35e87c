"""What stories about windows share: a window on its way, reboots, and where everything is."""

from collections.abc import Callable
from pathlib import Path

from gitbot.cli.shared.status_page import table
from gitbot.execution.ledger_folds import fold_nodes, occurrences_of
from gitbot.kubernetes.objects import at
from gitbot.ports.forge import PullRequest, PullState
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.workflows.ask import status
from tests.doubles.customapp import customapp
from tests.doubles.intents import CONFIGURATION
from tests.doubles.trouble import lose_node, return_node
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop

HEAD = "apiVersion: placement.gitbot.dev/v1alpha1\n"
HOUR = 3600
DAY = 24 * HOUR


def window(
    name: str = "firmware",
    *,
    nodes: str = "names: [kni-worker, kni-worker2]",
    start: str = "2026-12-01T04:00",
    duration: str = "PT4H",
    drain: str = "lead: PT1H, cordon: Gitbot, done: Rebooted",
    more: str = "",
) -> str:
    """A window in Madrid, by default of two nodes with a VM each, three hours after the start."""
    return (
        f"{HEAD}kind: MaintenanceWindow\nmetadata: {{name: {name}}}\nspec:\n"
        f"  nodes: {{{nodes}}}\n"
        f'  schedule: {{start: "{start}", timeZone: Europe/Madrid, duration: {duration}}}\n'
        f"  drain: {{{drain}}}\n{more}"
    )


def two_nodes() -> SimulatedCluster:
    """customapp with a VM on kni-worker and one on kni-worker2, and room elsewhere."""
    cluster = customapp(step=1, jumpbox=True, start_time=START)
    cluster.cordon("kni-worker2", unschedulable=False)
    cluster.settle()
    return cluster


def begun(
    folder: Path, cluster: SimulatedCluster, *, limits: str = "{}", **files: str
) -> tuple[Loop, dict[str, str]]:
    """The drains of windows are proposed and merged, and wait; with the homes of all VMs."""
    zone = "timeZone: Europe/Madrid\n"
    configuration = CONFIGURATION.replace(zone, f"{zone}    limits: {limits}\n")
    loop = Loop.start(folder, cluster, configuration=configuration)
    loop.commit({f"{name}.yaml": text for name, text in files.items()})
    homes = loop.where()
    loop.propose()
    for pull in pulls(loop, "drain"):
        loop.merge(pull.number)
    loop.apply()
    return loop, homes


def pulls(loop: Loop, kind: str) -> list[PullRequest]:
    """The bot's open pull requests about one kind of concern."""
    opened = loop.forge.list_pulls(state=PullState.OPEN)
    return [pull for pull in opened if pull.branch.rpartition("/")[2].startswith(kind)]


def until(loop: Loop, hour: float, why: str) -> None:
    """Sleep until so many hours after the start."""
    loop.say(f"-- {why}")
    loop.port.sleep(max(0, START + int(hour * HOUR) - loop.port.now()))


def reboot(loop: Loop, *nodes: str) -> None:
    """Nodes are serviced: they go away and come back with another boot id."""
    for node in nodes:
        lose_node(loop.cluster, node)
    loop.port.sleep(60)
    for node in nodes:
        return_node(loop.cluster, node)
    loop.port.sleep(60)
    loop.say(f"-- rebooted: {', '.join(nodes)}")


def nodes(loop: Loop) -> dict[str, str]:
    """The state of each node of every occurrence that has begun."""
    ledger, cluster = loop.shell.ledger_store.read(), loop.cluster.name
    return {
        node: str(record.state)
        for occurrence in occurrences_of(ledger, cluster)
        for node, record in fold_nodes(ledger, cluster=cluster, occurrence=occurrence).items()
    }


def tell(loop: Loop, homes: dict[str, str]) -> None:
    """Node states, cordons, and the VMs that are not at home."""
    loop.say(f"nodes: {nodes(loop)}")
    cordoned = [
        str(node["metadata"]["name"])
        for node in loop.cluster.list("Node")
        if at(node, "spec", "unschedulable", default=False)
    ]
    loop.say(f"cordoned: {', '.join(sorted(cordoned)) or 'none'}")
    away = {vm: node for vm, node in loop.where().items() if node != homes.get(vm, node)}
    loop.say(f"not at home: {away or 'none'}")


def tell_status(loop: Loop, *sections: str) -> None:
    """These sections of the page that `gitbot status` prints."""
    for section in table(status(loop.shell)).split("\n\n"):
        if section.startswith(sections):
            for line in section.splitlines():
                loop.say(f"  | {line}")


def in_flight(loop: Loop, when: Callable[[], None]) -> None:
    """Do something while the next migration copies memory, 30 seconds after now."""
    loop.cluster.at(loop.port.now() + 30, when)
