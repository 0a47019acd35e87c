"""PlacementProposal, a kind of intent."""
