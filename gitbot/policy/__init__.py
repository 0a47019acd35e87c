"""Policies in CEL over plan, moves, VMs, nodes and intents. One file holds the engine."""
