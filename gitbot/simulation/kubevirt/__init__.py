"""KubeVirt's reconcilers: the next steps of virt-controller and virt-handler, as pure functions.

Input: objects and the present. Output: writes and the seconds until the next look.
"""
