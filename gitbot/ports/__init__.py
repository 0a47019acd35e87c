"""One Protocol per file: what the workflows need from the outside world.

This room has no behaviour except `idempotence`, which decides what need not be written again. An
adapter and its double pass the same contract suite (tests/contracts).
"""
