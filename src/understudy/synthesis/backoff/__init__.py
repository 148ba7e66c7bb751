"""Label distributions that back off along a tree: the third synthesizer.

`model` holds the settings; `splits` works out what a split gains, `tree` grows trees,
`node_counts` brings them into the form of the sampler, `gibbs` lists the conditionals of a sweep,
`synthetic_labels` draws label distributions and synthetic labels from what is kept of a draw.
"""
