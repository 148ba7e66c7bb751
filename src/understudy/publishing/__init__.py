"""Publishing: what must hold before a study's files are released, and the public folder."""
