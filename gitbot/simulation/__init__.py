"""A deterministic cluster with a virtual clock and an HTTP face that speaks the Kubernetes API.

Room constraints has the rules of scheduling, room kubevirt those of KubeVirt. This room has only
the store, the clock, the loops that call them, and dials for what depends on hardware and luck. It
reads no clock, no file and no randomness: the same calls give the same objects.
"""

from gitbot.simulation.building import namespace
from gitbot.simulation.http import ApiServer, Runner, write_kubeconfig
from gitbot.simulation.port import SimulatedPort
from gitbot.simulation.scenes import customapp
from gitbot.simulation.simulated_cluster import SimulatedCluster
from gitbot.simulation.simulation_settings import SimulationSettings

__all__ = [
    "ApiServer",
    "Runner",
    "SimulatedCluster",
    "SimulatedPort",
    "SimulationSettings",
    "customapp",
    "namespace",
    "write_kubeconfig",
]
