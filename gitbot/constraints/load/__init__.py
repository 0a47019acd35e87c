"""Measured load: how it ranks nodes, after Trimaran."""
