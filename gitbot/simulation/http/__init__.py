"""The HTTP face: the simulated cluster as kubectl and the official client see it."""

from gitbot.simulation.http.kubeconfig import kubeconfig_text, write_kubeconfig
from gitbot.simulation.http.run_server import Runner
from gitbot.simulation.http.server import ApiServer, Listener

__all__ = ["ApiServer", "Listener", "Runner", "kubeconfig_text", "write_kubeconfig"]
