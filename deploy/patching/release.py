#!/usr/bin/env python3
"""Lets an upgrade go on at the nodes that gitbot has emptied. Run it each minute; it needs kubectl.

release.py harvester              nodes at which Harvester's upgrade is paused
release.py cluster-api [OPTION]   Machines that are being deleted; the options are kubectl's, for
                                  the management cluster: --context NAME
"""

import json
import subprocess
import sys
from typing import Any

HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io/gitbot"
MACHINE = ("cluster.x-k8s.io/cluster-namespace", "cluster.x-k8s.io/machine")  # of a node
PAUSES = "harvesterhci.io/node-upgrade-pause-map"
UPGRADES = ("upgrades.harvesterhci.io", "--namespace=harvester-system")


def kubectl(*arguments: str) -> str:
    return subprocess.run(
        ["kubectl", *arguments], check=True, stdout=subprocess.PIPE
    ).stdout.decode()


def found(*arguments: str) -> list[dict[str, Any]]:
    """The metadata of each object."""
    items = json.loads(kubectl("get", *arguments, "--output=json"))["items"]
    return [item["metadata"] for item in items]


def harvester(ready: list[dict[str, Any]], *_: str) -> None:
    names = {node["name"] for node in ready}
    for upgrade in found(*UPGRADES, "--selector=harvesterhci.io/latestUpgrade=true"):
        pauses = json.loads(upgrade.get("annotations", {}).get(PAUSES, "{}"))
        if due := {name: "unpause" for name in names if pauses.get(name) == "pause"}:
            text = json.dumps({**pauses, **due}, sort_keys=True)
            version = f"--resource-version={upgrade['resourceVersion']}"  # others may unpause, too
            kubectl(
                "annotate", *UPGRADES, upgrade["name"], "--overwrite", version, f"{PAUSES}={text}"
            )


def cluster_api(ready: list[dict[str, Any]], *options: str) -> None:
    machines = {tuple(node.get("annotations", {}).get(key) for key in MACHINE) for node in ready}
    for machine in found("machines.cluster.x-k8s.io", "--all-namespaces", *options):
        namespace, name = machine["namespace"], machine["name"]
        waits = "deletionTimestamp" in machine and HOOK in machine.get("annotations", {})
        if waits and (namespace, name) in machines:
            where = f"--namespace={namespace}"
            kubectl("annotate", "machines.cluster.x-k8s.io", name, where, f"{HOOK}-", *options)


if __name__ == "__main__":
    tools = {"harvester": harvester, "cluster-api": cluster_api}
    if len(sys.argv) < 2 or sys.argv[1] not in tools:
        sys.exit(f"which tool? {', '.join(tools)}")
    try:
        tools[sys.argv[1]](
            found("nodes", "--selector=placement.gitbot.dev/state=ready"), *sys.argv[2:]
        )
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)  # kubectl has said why
