"""KubeVirt on a real API server: CRDs, controllers, admission, by the rules of room kubevirt.

KubeVirt's own controllers are not part of this: the pure reconcilers that the simulator runs are
run here as controllers (list, watch, compare, write), so that a real API server, scheduler and
controller manager answer them.
"""
