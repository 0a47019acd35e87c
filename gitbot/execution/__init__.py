"""The executor's decisions: what is approved, what may start now, how it ended.

Pure: it reads no clock and writes nothing. The ledger, the cluster and the time are arguments;
steps and ledger events are results.
"""
