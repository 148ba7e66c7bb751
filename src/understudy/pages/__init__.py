"""What we decide: the findings of a study, the verdict on them, figures and the page."""
