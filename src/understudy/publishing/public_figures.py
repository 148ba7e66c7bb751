"""The public plots: drawn from findings in which nothing exact, small or named is left.

The plots are drawn by `understudy.pages`. It gets a copy of the findings from which everything
internal was removed or rounded beforehand, so that no plot can show it.
"""

from __future__ import annotations

import re

from understudy.errors import OutputError
from understudy.findings.schema import (
    AttackFindings,
    Findings,
    OwnRecordFindings,
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
    position_percent,
    rounded,
    worst_attacks,
)
from understudy.synthesis.registry import MODELS

__all__ = ["public_findings", "public_pictures"]

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
        tables rounded; of risks only the positions of the worst attacks, rounded.
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
            "undeclared": (),
            "observed_only": (),
            "rare_levels": {},
            "dominated_patterns": 0,
            "dominated_records": 0,
            "deciding": (),
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
            "risk": _risk(released),
            "convergence": released.convergence.model_copy(
                update={"traces": (), "cell_rhats": None, "quantities": (), "set_chains": ()}
            ),
        }
    )
    return findings.model_copy(
        update={
            "title": "",
            "data": data,
            "intruders": (),
            "synthesizers": (public,),
            "versions": {},
            "seed": None,
            "data_fingerprint": "",
            "set_digests": {},
        }
    )


def _mean(value: float | None) -> Spread:
    return Spread(mean=value, minimum=None, maximum=None, standard_error=None, values=())


def _risk(released: SynthesizerFindings) -> RiskFindings:
    """Keep of every setting the worst attack's rounded position, and nothing else."""
    attacks = [
        AttackFindings(
            attack=attack.attack,
            words="",
            setting=attack.setting,
            known=(),
            with_record=0.0,
            without_record=0.0,
            effect=0.0,
            standard_error=0.0,
            exact_table=0.0,
            position=percentage / 100,
            position_error=0.0,
        )
        for attack in worst_attacks(released)
        if (percentage := position_percent(attack)) is not None
    ]
    own_record = OwnRecordFindings(evidence="", attacks=tuple(attacks), n_records=0)
    return RiskFindings(
        identification=(),
        attribute=None,
        by_knowledge={},
        own_record=own_record if attacks else None,
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
