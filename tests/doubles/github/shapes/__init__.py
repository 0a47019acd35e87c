"""State to the JSON that GitHub answers; the field names are those of its OpenAPI description."""
