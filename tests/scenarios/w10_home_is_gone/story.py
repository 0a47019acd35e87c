"""The node object of the home is deleted."""

from pathlib import Path

from tests.scenarios.maintenance import begun, tell, tell_status, two_nodes, until, window


def story(folder: Path) -> str:
    loop, homes = begun(folder, two_nodes(), window=window())
    until(loop, 2, "03:00 in Madrid: the lead begins")
    loop.apply()
    loop.cluster.delete("Node", "kni-worker")
    loop.say("-- the node is taken out of the cluster")
    loop.apply()
    loop.propose()
    tell(loop, homes)
    tell_status(loop, "Away", "Nodes")
    return loop.end()
