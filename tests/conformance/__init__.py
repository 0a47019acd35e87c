"""What others publish to be held against: the cases that the specification of CEL comes with."""
