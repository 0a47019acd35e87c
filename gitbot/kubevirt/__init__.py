"""KubeVirt's rules as pure functions and pure reconcilers over plain objects. No store, no event loop."""
