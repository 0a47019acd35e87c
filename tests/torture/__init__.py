"""Deterministic simulation: real passes of gitbot in a small world, under every family of faults.

One seed is one run, exactly. `python -m tests.torture --seeds 2000` runs many and prints what they
covered; `--seed 17 --trace` shows one; a schedule that goes wrong is shrunk before it is shown.
"""
