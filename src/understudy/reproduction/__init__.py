"""The paper beside us: its printed tables, the same cells computed here, and what follows."""
