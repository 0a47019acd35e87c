"""Builders and doubles that users may import too."""
