"""The own-record effect: what taking part costs a person."""
