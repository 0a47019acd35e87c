"""The composite action, run as GitHub runs it."""
