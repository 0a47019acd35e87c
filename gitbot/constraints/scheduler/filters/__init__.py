"""kube-scheduler's filter plugins, one file each."""
