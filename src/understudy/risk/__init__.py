"""What an intruder learns."""
