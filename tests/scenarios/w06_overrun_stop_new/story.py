"""Seven minutes before the end the first VM starts; copies are slower than estimated."""

from pathlib import Path

from gitbot.simulation.simulation_settings import SimulationSettings
from tests.doubles.rack import RackSize, rack
from tests.scenarios.clusters import START
from tests.scenarios.maintenance import begun, nodes, until, window

SIZE = RackSize(
    nodes=9, nodes_in_rack=3, machines=27, full_percent=40, not_migratable_percent=0, namespaces=1
)


def story(folder: Path, overrun: str = "StopNew") -> str:
    text = window(nodes="names: [node-004]", more=f"  overrun: {overrun}\n")
    cluster = rack(SIZE, start_time=START, dials=SimulationSettings(bandwidth=40 << 20))
    loop, homes = begun(folder, cluster, limits="{perSourceNode: 1}", window=text)
    until(loop, 7 - 420 / 3600, "seven minutes before the end")
    loop.apply()
    until(loop, 8, "an hour after the end")
    loop.apply()
    loop.propose()
    loop.say(f"nodes: {nodes(loop)}")
    left = sorted(vm for vm, node in loop.where().items() if node == "node-004")
    loop.say(f"still on node-004: {', '.join(left) or 'nobody'} of {len(homes)} VMs in all")
    return loop.end()
