"""A request runs once; its VMIM is collected; the file goes and comes back; nothing fires."""

from pathlib import Path

from tests.doubles.customapp import customapp
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop

REQUEST = """\
apiVersion: placement.gitbot.dev/v1alpha1
kind: MigrationRequest
metadata: {name: jumpbox-to-sab, namespace: customapp}
spec:
  vms: {names: [jumpbox]}
  target: {node: kni-worker5}
  reason: Maintenance
"""
MIGRATION = "VirtualMachineInstanceMigration"


def foreign(name: str) -> dict[str, object]:
    """A migration of somebody else."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": MIGRATION,
        "metadata": {"name": name, "namespace": "customapp"},
        "spec": {"vmiName": "jumpbox"},
    }


def story(folder: Path) -> str:
    """Tell the story."""
    loop = Loop.start(folder, customapp(step=4, jumpbox=True, start_time=START))
    pull = loop.open({"request.yaml": REQUEST})
    loop.publish(pull.number)
    loop.merge(pull.number)
    loop.cluster.apply([foreign("by-hand-0")])
    loop.say("somebody else starts a migration of jumpbox")
    loop.apply()
    for number in range(1, 7):
        loop.cluster.apply([foreign(f"by-hand-{number}")])
        loop.cluster.settle()
    left = sorted(obj["metadata"]["name"] for obj in loop.cluster.list(MIGRATION))
    loop.say(f"six more migrations by hand; KubeVirt keeps {', '.join(left)}")
    loop.apply()
    loop.commit({"request.yaml": None})
    loop.commit({"request.yaml": REQUEST})
    loop.say("the file is removed, and comes back by a revert of the revert")
    loop.apply()
    loop.propose()
    creates = [write for write in loop.port.writes if write.startswith("create")]
    loop.say(f"migrations that gitbot ever created: {len(creates)}")
    return loop.end()
