"""Drawings: from findings to SVG for the page, and to PNG for what may become public."""

from understudy.pages.plots.png import bare_png, public_figures

__all__ = ["bare_png", "public_figures"]
