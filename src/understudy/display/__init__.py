"""How results show themselves: as text, as a table of a notebook, as matplotlib axes, as a frame.

A result says once what it holds: a `Described` table and `Panel`s of numbers. Everything here works
on those and knows no result, so that risk and utility can use it; the report's own drawings, which
know findings and the page's style, are in `pages`.
"""
