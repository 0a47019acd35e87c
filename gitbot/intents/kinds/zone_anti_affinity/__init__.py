"""ZoneAntiAffinity, a kind of intent."""
