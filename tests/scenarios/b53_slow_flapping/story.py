"""A breach that comes and goes every six hours for a day."""

from pathlib import Path

from gitbot.model.text.instants import format_instant
from tests.doubles.customapp import customapp
from tests.doubles.intents import CONFIGURATION, RULE
from tests.doubles.trouble import by_hand
from tests.scenarios.clusters import START
from tests.scenarios.loop import Loop

HALF = 3 * 3600


def story(folder: Path) -> str:
    """Tell the story."""
    cluster = customapp(step=2, start_time=START)
    cluster.cordon("kni-worker2", unschedulable=False)
    cluster.settle()
    patient = CONFIGURATION.replace("PT0S", "PT15M")
    loop = Loop.start(folder, cluster, configuration=patient)
    loop.commit({"rule.yaml": RULE})
    vms = cluster.list("VirtualMachineInstance", "customapp")
    together = [vm for vm in vms if vm["status"]["nodeName"] == "kni-worker6"]
    vm = together[0]["metadata"]["name"]
    for number in range(5):
        for node in ("kni-worker6", "kni-worker2"):
            if number or node == "kni-worker2":
                by_hand(cluster, vm, node, name=f"{node}-{number}")
                cluster.run_until(cluster.engine.idle, limit=900)
            begin = loop.port.now()
            loop.say(f"{format_instant(begin)}: {vm} is on {node}")
            loop.propose()
            loop.port.sleep(1200)
            loop.propose()
            loop.port.sleep(HALF - 1200)
    return loop.end()
