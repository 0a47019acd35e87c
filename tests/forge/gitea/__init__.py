"""A real Gitea on loopback, built from its Go module."""
