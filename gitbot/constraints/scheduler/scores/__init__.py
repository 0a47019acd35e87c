"""kube-scheduler's score plugins, one file each."""
