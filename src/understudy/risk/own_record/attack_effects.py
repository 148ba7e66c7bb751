"""Effects of people's own records, summed over all records and put beside the exact table's.

Where a random sample of people stands for all, totals are scaled up and its sampling error is added
to that of draws and simulations (`sampled_people`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.risk.own_record.attacks import ATTACKS, LEAST, WITHOUT_ROWS
from understudy.risk.own_record.chances import Attacked, Chances, Key
from understudy.risk.own_record.sampled_people import SampledPeople
from understudy.summaries import frequencies

__all__ = ["AttackEffect", "attack_effects", "limit_effect"]


@dataclass(frozen=True)
class AttackEffect:
    """The own-record effect of one attack.

    Attributes
    ----------
    attack : str
        One of `understudy.risk.own_record.attacks.ATTACKS`.
    setting : {"worst case", "as released"}
        Rows aligned with the records, or every file in an order of its own.
    known : tuple of str
        Kept variables that the intruder knows; all of them for attacks on the label.
    with_record, without_record : float
        Expected number of records attacked rightly, and had each of them been left out.
    effect, standard_error : float
        Their difference and its Monte-Carlo or sampling error.
    exact_table : float
        The effect of publishing the exact table.
    position, position_error : float
        Effect as a share of that of the exact table, or of one record where that is less.
    doubtful : float
        Part of `without_record` that rests on weights which cannot be trusted: by so much the
        effect could be larger, if nothing but their own labels told about these records.
    totals : float
        The effect of labels drawn from the overall distribution alone, for modal guesses.
    """

    attack: str
    setting: str
    known: tuple[str, ...]
    with_record: float
    without_record: float
    effect: float
    standard_error: float
    exact_table: float
    position: float
    position_error: float
    doubtful: float = 0.0
    totals: float = 0.0

    def sentence(self, n_records: int) -> str:
        """Say how often it is right, in natural frequencies."""
        right, without = self.with_record, self.without_record
        return frequencies(right, without, n_records, found=bool(self.known))


class _Sums(NamedTuple):
    """Success over all records, what is simulated in it, and by whom the effect comes about."""

    with_record: float
    without_record: float
    error: float
    difference: NDArray[np.float64]  # (measured combination,)


def _summed(chances: Chances, attacked: Attacked, people: SampledPeople | None) -> _Sums:
    scale, counts = 1.0 if people is None else people.scale, attacked.data.counts
    return _Sums(
        scale * float(chances.with_record @ counts),
        scale * float(chances.without_record @ counts),
        scale * chances.error,
        chances.with_record - chances.without_record,
    )


def attack_effects(
    attacked: Attacked,
    chances: Mapping[Key, Chances],
    scales: tuple[Mapping[Key, Chances], Mapping[Key, float]],
    in_doubt: NDArray[np.int64] | None,
    people: SampledPeople | None,
) -> tuple[AttackEffect, ...]:
    """Sum over records, add the better of both matches, and put each beside the exact table.

    `scales` has the exact table's chances, and the effects of totals alone. `in_doubt` has the
    records of each combination (combination,) whose weights cannot be trusted.
    """
    exact, totals = scales

    def sums(source: Mapping[Key, Chances], key: Key) -> _Sums:
        return _summed(source[key], attacked, people)

    def better(key: Key) -> Key:
        """Give the match that finds more people with the release: the one that she would use."""
        other = key._replace(attack="match_all_files")
        if other not in chances or sums(chances, key)[0] >= sums(chances, other)[0]:
            return key
        return other

    def listed_as(key: Key, used: Key) -> AttackEffect:
        doubtful = 0.0
        if in_doubt is not None:
            doubtful = float(chances[used].without_record @ in_doubt)
            doubtful *= 1.0 if people is None else people.scale
        effect = _effect(key, sums(chances, used), sums(exact, used), people)
        return replace(effect, doubtful=doubtful, totals=totals.get(used, 0.0))

    listed = []
    judged = [key for key in chances if key.attack in ATTACKS]
    for key in sorted(judged, key=lambda key: (key.released, list(ATTACKS).index(key.attack))):
        settings = (False, True) if key.attack in WITHOUT_ROWS else (key.released,)
        listed += [listed_as(key._replace(released=released), key) for released in settings]
        if key.attack == "match_one_file":
            listed.append(listed_as(key._replace(attack="match_best"), better(key)))
    order = list(ATTACKS)
    return tuple(
        sorted(
            listed, key=lambda effect: (effect.setting != "worst case", order.index(effect.attack))
        )
    )


def limit_effect(
    attacked: Attacked,
    chances: Mapping[Key, Chances],
    exact: Mapping[Key, Chances],
    people: SampledPeople | None,
) -> AttackEffect | None:
    """Sum the modal guess for ever more files over records."""
    key = Key("pooled_limit")
    if key not in chances:
        return None
    measured, scale = (_summed(chance[key], attacked, people) for chance in (chances, exact))
    return _effect(key, measured, scale, people)


def _effect(key: Key, measured: _Sums, exact: _Sums, people: SampledPeople | None) -> AttackEffect:
    effect, exact_table = (
        success.with_record - success.without_record for success in (measured, exact)
    )
    scale = max(exact_table, LEAST)
    position = effect / scale
    sampling = of_position = 0.0
    if people is not None:
        sampling = of_position = people.error(measured.difference)
        of_position /= scale
        if exact_table > LEAST:
            of_position = people.error_of_share(measured.difference, exact.difference)
    return AttackEffect(
        attack=key.attack,
        setting="as released" if key.released else "worst case",
        known=key.known,
        with_record=measured.with_record,
        without_record=measured.without_record,
        effect=effect,
        standard_error=(measured.error**2 + sampling**2) ** 0.5,
        exact_table=exact_table,
        position=position,
        position_error=(
            (measured.error**2 + (position * exact.error) ** 2) / scale**2 + of_position**2
        )
        ** 0.5,
    )
