"""What the loss of nodes would do to the VMs and pods on them."""
