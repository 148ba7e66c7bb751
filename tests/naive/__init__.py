"""Tests of slow, obvious twins of compiled routines."""
