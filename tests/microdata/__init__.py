"""Tests of microdata: reading, coding, checking and writing."""
