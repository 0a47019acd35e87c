"""Recurrences, zones and daylight saving time to instants. Reads no clock."""
