"""What was measured, as plain records: for each subject the one step from a result to its record.

Results hold the confidential data and live in memory; findings are small and plain, and all that
the verdict, the pages and a release see.
"""
