"""Doubles and builders, written by hand and held to the contract suites of the real things."""
