"""The HTTP face: the simulated cluster as kubectl and the official client see it."""

from gitbot.simulation.http.kubeconfig import kubeconfig_text, write_kubeconfig
from gitbot.simulation.http.runner import Runner
from gitbot.simulation.http.server import Face, Listener

__all__ = ["Face", "Listener", "Runner", "kubeconfig_text", "write_kubeconfig"]
