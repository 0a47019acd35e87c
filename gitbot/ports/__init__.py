"""One Protocol a file: what the workflows need from the world outside.

Nothing here does anything. An adapter and its double pass the same contract suite
(tests/contracts).
"""
