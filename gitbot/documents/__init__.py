"""YAML text and plain data, read with positions; the only door to yaml. Knows no intent."""
