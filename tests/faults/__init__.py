"""Faults: runs that are killed, interrupted or out of disk space at any instant."""
