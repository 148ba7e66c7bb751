"""The models that a plan can name: one line each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["MODELS", "load_model"]

# By name in a plan: what it is called in a report, and where it lives.
MODELS = {
    "dpmpm": ("DPMPM", "understudy.synthesis.dpmpm:DPMPM"),
    "areal": ("DP-areal", "understudy.synthesis.areal:DPAreal"),
}


def load_model(name: str) -> Any:
    """Load the class of a model's settings."""
    module, _, thing = MODELS[name][1].partition(":")
    return getattr(import_module(module), thing)
