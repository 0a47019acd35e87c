"""The vocabulary as frozen values: names, findings, snapshot, problem, plan, ledger, digests.

This room computes nothing about placement and never reads a file, a clock or a network.
"""
