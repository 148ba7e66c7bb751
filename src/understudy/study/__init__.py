"""A study: its plan, the run from file to decision, and the confidential folder it is kept in."""
