"""Simulate: what would happen to the VMs of a snapshot, without touching the cluster.

`Simulation` answers one question at a time with a `Forecast`: nodes that are lost
(`constraints.failure.node_loss`), nodes that are emptied or rebooted (the planner), VMs that are
added, a label that changes (the audit before and after), and whether any single loss leaves VMs
without a place.
"""

from __future__ import annotations

from gitbot.workflows.simulate.run import Forecast, Simulation, chosen_nodes

__all__ = ["Forecast", "Simulation", "chosen_nodes"]
