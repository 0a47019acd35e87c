"""The executor's brain: what is approved, what may start now, what became of it. Pure.

It reads no clock and writes nothing: the ledger, the cluster and the time come in as values,
steps and ledger entries go out.
"""
