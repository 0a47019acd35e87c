"""Searches for moves: greedy, chains of VMs that step aside, exact."""
