"""What we hold."""
