"""Settings to adapters or simulator to workflows: the only place that picks implementations."""
