"""Cordon, a failed move, still cordoned; then the rest, the reboot, and the uncordon."""

from pathlib import Path

from gitbot.kubernetes.objects import at
from tests.doubles.customapp import customapp
from tests.doubles.trouble import fail_next_migration, lose_node, return_node
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop

WINDOW = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: reboot}
spec:
  nodes: {names: [kni-worker]}
  drain: {cordon: Gitbot, done: Rebooted}
  returnHome: Never
"""


def cordoned(loop: Loop) -> bool:
    """Whether kni-worker is cordoned."""
    node = loop.cluster.get("Node", "kni-worker")
    return bool(at(node, "spec", "unschedulable", default=False))


def story(folder: Path) -> str:
    """Tell the story."""
    loop = Loop.start(folder, customapp(step=4, jumpbox=True, start_time=START))
    loop.commit({"window.yaml": WINDOW})
    loop.propose()
    (pull,) = loop.forge.list_pulls()
    loop.merge(pull.number)
    fail_next_migration(loop.cluster, "jumpbox", "customapp", reason="the target host gave up")
    loop.apply()
    loop.say(f"after the failure: cordoned {cordoned(loop)}, {loop.where('jumpbox')}")
    loop.propose()
    rest = [p for p in loop.forge.list_pulls() if p.number != pull.number]
    for proposal in rest:
        loop.merge(proposal.number)
    loop.apply()
    loop.say(f"emptied: cordoned {cordoned(loop)}, {loop.where('jumpbox')}")
    lose_node(loop.cluster, "kni-worker")
    loop.port.sleep(60)
    return_node(loop.cluster, "kni-worker")
    loop.cluster.settle()
    loop.apply()
    loop.say(f"after the reboot: cordoned {cordoned(loop)}")
    return loop.end()
