"""The public plots: drawn from findings in which nothing exact, small or named is left.

The plots are made by the report's room. It gets a copy of the findings from which everything that
the public may not see was taken out or rounded beforehand, so that a plot cannot show it whatever
it draws.
"""

from __future__ import annotations

import re

from understudy.errors import OutputError
from understudy.findings.schema import (
    AttributeFindings,
    Baseline,
    Findings,
    IdentificationFindings,
    IntruderFindings,
    Regression,
    RiskFindings,
    Spread,
    SynthesizerFindings,
    Tables,
    UtilityFindings,
)
from understudy.publishing.rounding import (
    BASELINES,
    LIMIT,
    model_words,
    overlap,
    place_share,
    rounded,
)
from understudy.synthesis.registry import MODELS

__all__ = ["blunted", "public_pictures"]

FILE_NAME = re.compile(r"[a-z0-9-]{1,80}\.png")


def public_pictures(findings: Findings, one: SynthesizerFindings) -> dict[str, bytes]:
    """Draw the public plots of a synthesizer.

    Parameters
    ----------
    findings : Findings
        All that the study found.
    one : SynthesizerFindings
        The synthesizer whose files are released.

    Returns
    -------
    dict of str to bytes
        PNG files without any remarks, by name.
    """
    from understudy.pages.plots import bare_png, public_figures

    shown = blunted(findings, one)
    drawn = public_figures(shown, shown.synthesizers[0].name)
    for name in drawn:
        if not FILE_NAME.fullmatch(name):
            raise OutputError(
                expected="plots with plain file names",
                came="another one",
                do="nothing was released; please report this fault",
            )
    return {name: bare_png(content) for name, content in sorted(drawn.items())}


def blunted(findings: Findings, one: SynthesizerFindings) -> Findings:
    """Take out of the findings what the public may not see, and round the rest.

    Parameters
    ----------
    findings : Findings
        All that the study found.
    one : SynthesizerFindings
        The synthesizer to keep.

    Returns
    -------
    Findings
        Without title, seed, versions, digests, patterns, records, levels and labels; deviations of
        tables rounded; of risks only their places between Min (0) and Max (100), rounded.
    """
    model = model_words(one.kind)[0]
    data = findings.data.model_copy(
        update={
            "n_dropped": 0,
            "n_combinations": 0,
            "variables": (),
            "patterns": (),
            "n_patterns": 0,
            "pattern_numbers": (),
            "pattern_sizes": {},
            "largest_pattern": 0,
        }
    )
    public = one.model_copy(
        update={
            "name": "released",
            "kind": one.kind if one.kind in {*MODELS, *BASELINES} else "other",
            "title": model,
            "settings": {},
            "notes": (),
            "utility": _utility(one.utility),
            "risk": _risk(findings, one),
            "convergence": one.convergence.model_copy(
                update={"traces": (), "cell_rhats": None, "quantities": (), "set_chains": ()}
            ),
        }
    )
    return findings.model_copy(
        update={
            "title": "",
            "data": data,
            "intruders": tuple(
                IntruderFindings(known=found.known, minimum=_level(0.0), maximum=_level(100.0))
                for found in findings.intruders
            ),
            "synthesizers": (public,),
            "versions": {},
            "seed": None,
            "data_fingerprint": "",
            "set_digests": {},
        }
    )


def _risk(findings: Findings, one: SynthesizerFindings) -> RiskFindings:
    """Leave of every risk its place between the levels, on a scale from 0 to 100."""
    levels = {found.known: found for found in findings.intruders}
    matched = {
        found.known: _place(
            found.measures["expected_match_risk"].mean,
            levels.get(found.known),
            "expected_match_risk",
        )
        for found in one.risk.identification
    }
    attribute = one.risk.attribute
    label = None
    if attribute is not None and findings.intruders:
        label = _place(attribute.matches.mean, findings.intruders[0], "attribute_matches")
    return RiskFindings(
        identification=tuple(
            IdentificationFindings(
                known=known,
                measures={"expected_match_risk": _only(share)},
                joint={},
                random_linkage=0.0,
                patterns=(),
                records=(),
                share_of_top_percent=None,
            )
            for known, share in matched.items()
        ),
        attribute=None
        if label is None
        else AttributeFindings(matches=_only(label), joint_matches=0.0, most_frequent_label=0.0),
        by_knowledge={},
    )


def _place(value: float | None, levels: IntruderFindings | None, measure: str) -> float | None:
    share = place_share(value, levels, measure)
    return None if share is None else float(share)


def _only(value: float | None) -> Spread:
    return Spread(mean=value, minimum=None, maximum=None, standard_error=None, values=())


def _level(place: float) -> Baseline:
    measures = ("expected_match_risk", "attribute_matches")
    return Baseline(samples={name: _only(place) for name in measures}, exact={}, joint={})


def _utility(found: UtilityFindings) -> UtilityFindings:
    tables = found.tables
    return found.model_copy(
        update={
            "tables": Tables(
                orders=tables.orders,
                deviation=tuple(_only(_blunt(one.mean)) for one in tables.deviation),
                noise_floor=tuple(_blunt(one) or 0.0 for one in tables.noise_floor),
                tables=(),
                signed=(),
                signed_floor=(),
                propensity_ratio=None,
            ),
            "regressions": tuple(_regression(one) for one in found.regressions),
            "within": found.within.model_copy(
                update={
                    "distance": (),
                    "noise_floor": (),
                    "spreads_above": (),
                    "shares": (),
                    "mean_distance": 0.0,
                    "mean_floor": 0.0,
                    "n_far": 0,
                }
            ),
        }
    )


def _blunt(value: float | None) -> float | None:
    """Round a deviation; what the page does not show is not drawn either."""
    return None if value is None or value < LIMIT else float(rounded(value))


def _regression(found: Regression) -> Regression:
    def two(value: float | None) -> float | None:
        return None if value is None else round(value, 2)

    return found.model_copy(
        update={
            "formula": "",
            "coefficients": (),
            "mean_overlap": two(overlap(found)),
            "overlap_floor": two(found.overlap_floor),
            "overlap_in_common": None,
            "n_in_common": None,
            "predictions_original": None,
            "predictions_synthetic": None,
            "distance": None,
            "distance_floor": None,
        }
    )
