"""Placement rules: data, check, counts and explanation."""
