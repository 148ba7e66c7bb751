"""Tests of the release: the gate, what it lets out, and what it never does."""
