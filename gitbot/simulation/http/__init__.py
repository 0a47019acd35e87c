"""The HTTP face: the simulated cluster as kubectl and the official client see it."""

from gitbot.simulation.http.kubeconfig import kubeconfig_text, write_kubeconfig
from gitbot.simulation.http.runner import Runner
from gitbot.simulation.http.server import Face, serve

__all__ = ["Face", "Runner", "kubeconfig_text", "serve", "write_kubeconfig"]
