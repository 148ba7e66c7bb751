"""The public plots: drawn from findings in which nothing exact, small or named is left.

The plots are drawn by `understudy.pages`. It gets a copy of the findings from which everything
internal was removed or rounded beforehand, so that no plot can show it.
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
    MATCH,
    model_words,
    overlap,
    position_percent,
    rounded,
)
from understudy.synthesis.registry import MODELS

__all__ = ["public_findings", "public_pictures"]

LABELS = "attribute_matches"
FILE_NAME = re.compile(r"[a-z0-9-]{1,80}\.png")


def public_pictures(findings: Findings, released: SynthesizerFindings) -> dict[str, bytes]:
    """Draw the public plots of a synthesizer: PNG files without any remarks, by name.

    Parameters
    ----------
    findings : Findings
        All that the study found.
    released : SynthesizerFindings
        The synthesizer whose files are released.
    """
    from understudy.pages.plots import bare_png, public_figures

    shown = public_findings(findings, released)
    drawn = public_figures(shown, shown.synthesizers[0].name)
    for name in drawn:
        if not FILE_NAME.fullmatch(name):
            raise OutputError(
                expected="plots with plain file names",
                came="another one",
                do="nothing was released; please report this fault",
            )
    return {name: bare_png(content) for name, content in sorted(drawn.items())}


def public_findings(findings: Findings, released: SynthesizerFindings) -> Findings:
    """Remove from the findings what is internal, and round the rest.

    Returns
    -------
    Findings
        Without title, seed, versions, digests, patterns, records, levels and labels; deviations of
        tables rounded; of risks only their positions between Min (0) and Max (100), rounded.
    """
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
    public = released.model_copy(
        update={
            "name": "released",
            "kind": released.kind if released.kind in {*MODELS, *BASELINES} else "other",
            "title": model_words(released.kind)[0],
            "settings": {},
            "notes": (),
            "utility": _utility(released.utility),
            "risk": _risk(findings, released),
            "convergence": released.convergence.model_copy(
                update={"traces": (), "cell_rhats": None, "quantities": (), "set_chains": ()}
            ),
        }
    )
    return findings.model_copy(
        update={
            "title": "",
            "data": data,
            "intruders": tuple(
                IntruderFindings(
                    known=each.known,
                    baselines={"Uniform": _scale(0.0), "Perfect": _scale(100.0)},
                )
                for each in findings.intruders
            ),
            "synthesizers": (public,),
            "versions": {},
            "seed": None,
            "data_fingerprint": "",
            "set_digests": {},
        }
    )


def _scale(end: float) -> Baseline:
    """A baseline at one end of the scale of positions."""
    return Baseline(samples={name: _mean(end) for name in (MATCH, LABELS)}, exact={}, joint={})


def _mean(value: float | None) -> Spread:
    return Spread(mean=value, minimum=None, maximum=None, standard_error=None, values=())


def _risk(findings: Findings, released: SynthesizerFindings) -> RiskFindings:
    """Keep of every risk its position between the baselines, on a scale from 0 to 100."""
    intruders = {intruder.known: intruder for intruder in findings.intruders}
    attribute = released.risk.attribute
    label = None
    if attribute is not None and findings.intruders:
        label = position_percent(attribute.matches.mean, findings.intruders[0], LABELS)
    return RiskFindings(
        identification=tuple(
            IdentificationFindings(
                known=risk.known,
                measures={
                    MATCH: _mean(
                        position_percent(
                            risk.measures[MATCH].mean, intruders.get(risk.known), MATCH
                        )
                    )
                },
                joint={},
                random_linkage=0.0,
                patterns=(),
                records=(),
                share_of_top_percent=None,
            )
            for risk in released.risk.identification
        ),
        attribute=None
        if label is None
        else AttributeFindings(matches=_mean(label), joint_matches=0.0, most_frequent_label=0.0),
        by_knowledge={},
    )


def _utility(utility: UtilityFindings) -> UtilityFindings:
    tables = utility.tables
    return utility.model_copy(
        update={
            "tables": Tables(
                orders=tables.orders,
                deviation=tuple(_mean(_deviation(each.mean)) for each in tables.deviation),
                noise_floor=tuple(_deviation(floor) or 0.0 for floor in tables.noise_floor),
                truth_floor=tuple(_deviation(floor) or 0.0 for floor in tables.truth_floor),
                tables=(),
                signed=(),
                signed_floor=(),
                propensity_ratio=None,
            ),
            "regressions": tuple(map(_regression, utility.regressions)),
            "within": utility.within.model_copy(
                update={
                    "distance": (),
                    "noise_floor": (),
                    "truth_floor": (),
                    "spreads_above": (),
                    "shares": (),
                    "mean_distance": 0.0,
                    "mean_floor": 0.0,
                    "mean_truth_floor": 0.0,
                    "n_far": 0,
                }
            ),
        }
    )


def _deviation(value: float | None) -> float | None:
    """Round a deviation; what the page does not show is not drawn either."""
    return None if value is None or value < LIMIT else float(rounded(value))


def _regression(regression: Regression) -> Regression:
    mean, floor, truth_floor = (
        None if value is None else round(value, 2)
        for value in (overlap(regression), regression.overlap_floor, regression.overlap_truth_floor)
    )
    return regression.model_copy(
        update={
            "formula": "",
            "coefficients": (),
            "mean_overlap": mean,
            "overlap_floor": floor,
            "overlap_truth_floor": truth_floor,
            "overlap_in_common": None,
            "n_in_common": None,
            "predictions_original": None,
            "predictions_synthetic": None,
            "distance": None,
            "distance_floor": None,
            "distance_truth_floor": None,
        }
    )
