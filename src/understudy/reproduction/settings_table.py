"""The paper's settings beside those of this run, so that every difference is on the page."""

from __future__ import annotations

from typing import Any

from understudy.pages.blocks import Block, Heading, Paragraph, Table
from understudy.reproduction.configurations import CONFIGURATIONS, LEVEL_PRIORS
from understudy.reproduction.published import SETTINGS

__all__ = ["settings_blocks"]


def settings_blocks(results: dict[str, Any]) -> list[Block]:
    """Set them side by side."""
    here = _here(results)
    rows: list[tuple[str, ...]] = []
    for model, settings in SETTINGS.items():
        if all(here[model, what] in ("the same", paper) for what, paper in settings):
            continue
        rows.append((model,))
        rows += [
            (what, paper, here[model, what])
            for what, paper in settings
            if here[model, what] not in ("the same", paper)
        ]
    return [
        Heading("Settings"),
        Paragraph(
            """
            What is not in this table is as in the paper: priors, numbers of sets and of training
            records, repeats of Min and Max. The samplers are our own, tested to draw from the same
            posteriors.
            """
        ),
        Table(
            "The paper's settings and ours",
            ("", "paper", "here"),
            rows,
            text_columns=(0, 1, 2),
            file="settings",
        ),
    ]


def _here(results: dict[str, Any]) -> dict[tuple[str, str], str]:
    fits = results["populations"][0]["fits"]
    repeats = len(results["populations"][0]["baselines"]["samples"]["Max"]["attribute_matches"])
    return {
        ("DPMPM", "sampler"): "two: collapsed, without a limit on classes; blocked, 40 classes",
        ("DPMPM", "prior of the concentration"): "the same",
        ("DPMPM", "prior of level probabilities"): _level_priors(fits),
        ("DPMPM", "class of a synthetic label"): "all three class draws",
        ("DPMPM", "sweeps"): _sweeps(fits, ("collapsed", "blocked")),
        ("DPMPM", "chains, effective draws"): "4; the table at the end has every fit",
        ("DP-areal", "sampler"): "our own, 50 clusters; two variants, the paper's text and "
        "its script",
        ("DP-areal", "prior of the concentration"): "the same",
        ("DP-areal", "sweeps"): _sweeps(fits, ("text", "script")),
        ("DP-areal", "chains, effective draws"): "4; the table at the end has every fit",
        ("both", "synthetic sets"): str(results["sets"]),
        ("both", "repeats of Min and Max"): str(repeats),
        ("both", "records that train the regression"): "the same",
    }


def _level_priors(fits: dict[str, Any]) -> str:
    """Name the priors of the county's probabilities that were tried besides the paper's."""
    others = [
        words
        for key, words in LEVEL_PRIORS.items()
        if CONFIGURATIONS[key].fit in fits and key != "blocked kept"
    ]
    return "the same" + (f"; for the county also {', '.join(others)}" if others else "")


def _sweeps(fits: dict[str, Any], keys: tuple[str, ...]) -> str:
    """Say how long the chains of the bundled population are."""
    parts = []
    for key in keys:
        if key in fits:
            lengths = fits[key]["lengths"]
            kept = lengths["draws"] * lengths["thin"]
            parts.append(f"{key}: {lengths['warmup'] + kept:,}, {lengths['warmup']:,} thrown away")
    return "; ".join(parts)
