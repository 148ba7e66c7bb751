"""The chapters of the page: from findings to words, drawings and tables."""
