"""Faults: runs that are killed, interrupted or out of room at any instant."""
