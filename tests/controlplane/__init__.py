"""The real Kubernetes control plane under the tests: build, start, play its nodes, compare."""
