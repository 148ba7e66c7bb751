"""The public names, and what they promise."""

from __future__ import annotations

import inspect

import pytest

import understudy

PUBLIC = [
    "BackoffTree",
    "ConvergenceTargets",
    "DPAreal",
    "DPMPM",
    "FormalDirichlet",
    "Marginal",
    "Microdata",
    "Others",
    "Perfect",
    "Study",
    "SyntheticSets",
    "Uniform",
    "analysis_utility",
    "attribute_risk",
    "attribution_risk",
    "combine_counts",
    "combine_estimates",
    "combine_nested_estimates",
    "count_utility",
    "expected_risk",
    "frontier",
    "fully_synthetic_risk",
    "identification_risk",
    "informed_intruder_risk",
    "inherent_risk",
    "label_diversity",
    "load_ce_like",
    "memory_limit",
    "on_workers",
    "own_record_effect",
    "population_risk",
    "posterior_risk",
    "prediction_risk",
    "propensity_utility",
    "read_microdata",
    "read_synthetic",
    "regression_utility",
    "release",
    "risk_lattice",
    "risk_weights",
    "synthesize",
    "table_utility",
    "weighted_utility",
    "within_pattern_utility",
]


def test_public_names() -> None:
    assert understudy.__all__ == sorted(understudy.__all__) == PUBLIC
    assert set(PUBLIC) <= set(dir(understudy))
    for name in PUBLIC:
        assert getattr(understudy, name).__name__ == name
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = understudy.no_such_name


def test_old_public_names_still_work() -> None:
    with pytest.warns(DeprecationWarning, match=r"understudy\.ConvergenceTargets"):
        assert understudy.Targets is understudy.ConvergenceTargets


def documented() -> list[tuple[str, object]]:
    """List everything public: names of the package, and public methods of its classes."""
    listed = []
    for name in PUBLIC:
        thing = getattr(understudy, name)
        listed.append((name, thing))
        if inspect.isclass(thing):
            members = inspect.getmembers(
                thing, lambda member: inspect.isfunction(member) or isinstance(member, property)
            )
            listed += [
                (f"{name}.{key}", member) for key, member in members if not key.startswith("_")
            ]
    return listed


@pytest.mark.parametrize(
    ("name", "thing"), documented(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_public_things_have_docstrings_and_full_types(name: str, thing: object) -> None:
    assert inspect.getdoc(thing), name
    function = thing.fget if isinstance(thing, property) else thing
    if inspect.isclass(function):
        return
    signature = inspect.signature(function)  # type: ignore[arg-type]
    assert signature.return_annotation is not inspect.Signature.empty, name
    for parameter in signature.parameters.values():
        if parameter.name != "self":
            assert parameter.annotation is not inspect.Parameter.empty, f"{name}({parameter.name})"
            assert parameter.name in (inspect.getdoc(function) or ""), f"{name}({parameter.name})"
