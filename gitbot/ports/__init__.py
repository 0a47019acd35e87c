"""One Protocol per file: what the workflows need from the outside world.

This room has no behaviour. An adapter and its double pass the same contract suite
(tests/contracts).
"""
