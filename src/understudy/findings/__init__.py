"""What was measured, as plain records: all that the verdict, the pages and a release see."""
