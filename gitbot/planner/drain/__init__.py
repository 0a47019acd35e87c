"""Drains of many nodes: in bulk, and one after the other."""
