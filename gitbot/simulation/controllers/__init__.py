"""The controllers of the simulated cluster: each reads the store and writes through it."""
