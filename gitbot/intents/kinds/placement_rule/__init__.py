"""PlacementRule, a kind of intent."""
