"""A deterministic cluster with a virtual clock and an HTTP face that speaks the Kubernetes API.

Rules of scheduling come from room constraints, those of KubeVirt from room kubevirt; here are only
the store, the clock, the loops that call them, and what hardware and luck would do (dials). It
reads no clock, no file and no randomness: the same calls give the same objects.
"""

from gitbot.simulation.cluster import SimulatedCluster
from gitbot.simulation.dials import Dials
from gitbot.simulation.http import Face, Runner, serve, write_kubeconfig
from gitbot.simulation.port import SimulatedPort

__all__ = [
    "Dials",
    "Face",
    "Runner",
    "SimulatedCluster",
    "SimulatedPort",
    "serve",
    "write_kubeconfig",
]
