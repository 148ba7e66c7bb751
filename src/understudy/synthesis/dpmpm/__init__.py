"""Dirichlet-process mixture of products of multinomials: the paper's first synthesizer.

`model` holds the settings and `fit`; `collapsed` and `blocked` are the two samplers, `split_merge`
is a further move of the collapsed one and `class_counts` the first of the blocked one; `parameters`
goes from a partition to weights and level probabilities; `synthetic_labels` draws labels from them.
"""
