"""The public plots: drawn from findings in which nothing exact, small or named is left.

The plots are made by the report's room. It gets a copy of the findings from which everything that
the public may not see was taken out or rounded beforehand, so that a plot cannot show it whatever
it draws.
"""

from __future__ import annotations

import re

from understudy.errors import OutputError
from understudy.release.files import bare_png
from understudy.release.summary import LIMIT, MODELS, rounded
from understudy.report.findings import (
    Findings,
    IdentificationFindings,
    IntruderFindings,
    Level,
    Regression,
    Spread,
    SynthesizerFindings,
    Tables,
    UtilityFindings,
)

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
    from understudy.report.figures import public_figures  # type: ignore[import-not-found]

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
        Without title, seed, versions, digests, patterns, records, levels and labels; every figure
        rounded, and intruders with figures below the limit left out.
    """
    model = MODELS.get(one.kind, ("another model", ""))[0]
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
    large = [found for found in one.risk.identification if _large(found, findings)]
    known = {found.known for found in large}
    attribute = one.risk.attribute
    risk = one.risk.model_copy(
        update={
            "identification": tuple(_identification(found) for found in large),
            "attribute": None
            if attribute is None or (attribute.matches.mean or 0) < LIMIT
            else attribute.model_copy(
                update={
                    "matches": _spread(attribute.matches),
                    "joint_matches": rounded(attribute.joint_matches),
                    "most_frequent_label": 0.0,
                    "most_frequent_synthetic_label": None,
                }
            ),
            "lattice": {},
        }
    )
    public = one.model_copy(
        update={
            "name": one.kind,
            "title": model,
            "settings": {},
            "notes": (),
            "utility": _utility(one.utility),
            "risk": risk,
            "convergence": one.convergence.model_copy(
                update={"traces": (), "cell_rhats": None, "quantities": ()}
            ),
        }
    )
    return findings.model_copy(
        update={
            "title": "",
            "data": data,
            "intruders": tuple(
                _intruder(found) for found in findings.intruders if found.known in known
            ),
            "synthesizers": (public,),
            "versions": {},
            "seed": None,
            "data_fingerprint": "",
            "set_digests": {},
        }
    )


def _large(found: IdentificationFindings, findings: Findings) -> bool:
    """Tell whether all that would be drawn of an intruder is above the limit."""
    levels = next((one for one in findings.intruders if one.known == found.known), None)
    spreads = [found.measures.get("expected_match_risk")]
    if levels is not None:
        spreads += [
            level.samples.get("expected_match_risk") for level in (levels.minimum, levels.maximum)
        ]
    return all(one is not None and (one.minimum or 0) >= LIMIT for one in spreads)


def _spread(one: Spread) -> Spread:
    def blunt(value: float | None) -> float | None:
        return None if value is None else float(rounded(value))

    return Spread(
        mean=blunt(one.mean),
        minimum=blunt(one.minimum),
        maximum=blunt(one.maximum),
        standard_error=None,
        values=(),
    )


COUNTS = ("expected_match_risk", "attribute_matches")  # figures that `rounded` is made for


def _identification(found: IdentificationFindings) -> IdentificationFindings:
    joint = found.joint.get("expected_match_risk")
    return IdentificationFindings(
        known=found.known,
        measures={name: _spread(found.measures[name]) for name in COUNTS if name in found.measures},
        joint={"expected_match_risk": None if joint is None else float(rounded(joint))},
        random_linkage=1.0,
        patterns=(),
        records=(),
        share_of_top_percent=None,
    )


def _intruder(found: IntruderFindings) -> IntruderFindings:
    return IntruderFindings(
        known=found.known, minimum=_level(found.minimum), maximum=_level(found.maximum)
    )


def _level(level: Level) -> Level:
    return Level(
        samples={name: _spread(level.samples[name]) for name in COUNTS if name in level.samples},
        exact={},
        joint={name: _spread(level.joint[name]) for name in COUNTS if name in level.joint},
    )


def _utility(found: UtilityFindings) -> UtilityFindings:
    tables = found.tables
    return found.model_copy(
        update={
            "tables": Tables(
                orders=tables.orders,
                deviation=tuple(_spread(one) for one in tables.deviation),
                noise_floor=tuple(float(rounded(one)) for one in tables.noise_floor),
                tables=(),
                signed=(),
                signed_floor=(),
                propensity_ratio=None,
            ),
            "regressions": tuple(_regression(one) for one in found.regressions),
            "within": found.within.model_copy(
                update={"distance": (), "noise_floor": (), "spreads_above": (), "shares": ()}
            ),
        }
    )


def _regression(found: Regression) -> Regression:
    def two(value: float | None) -> float | None:
        return None if value is None else round(value, 2)

    return found.model_copy(
        update={
            "formula": "",
            "coefficients": (),
            "mean_overlap": two(found.mean_overlap),
            "overlap_floor": two(found.overlap_floor),
            "overlap_in_common": None,
            "predictions_original": None,
            "predictions_synthetic": None,
            "distance": None,
            "distance_floor": None,
        }
    )
