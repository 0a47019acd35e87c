"""Moves in time: waves, dependencies, limits."""
