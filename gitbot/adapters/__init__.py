"""The doors to the world: each port's real implementation."""
