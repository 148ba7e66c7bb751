"""Who stands in."""
