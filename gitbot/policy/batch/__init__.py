"""Many policies and subjects evaluated in few calls of the CEL engine."""
