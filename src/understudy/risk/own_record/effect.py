"""The own-record effect: what taking part costs a person.

The story. An intruder attacks a person with the released files. She would also have been right
about some people who had not taken part, because other people's records tell about them: that is
inference, which a useful file always allows. What the person's *own* record adds is the cost of
taking part, and that is what a board must judge:

    effect = success with the release - success had the same model been fitted without that
    person's label, summed over all records.

Its scale is the effect of publishing the exact table (the baseline Perfect). *Position* = effect /
effect of the exact table: 0 if nobody's own record matters, 1 if it matters as much as in the
exact table.

Where it comes from, the best evidence first: a fit's posterior draws, with the record left out by
importance weights, or by a fit without it where these cannot be trusted; the closed form, for the
baselines; for files of other tools a *control group* of people who were not in the synthesis;
without one, what the other records of the pattern tell (the baseline Others), which is weaker: a
model that learns from all patterns can be right more often without anybody's own record.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_one_of, check_whole, kind_of
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import InputError, SettingError, quoted_list
from understudy.microdata.coarsening import Coarsening
from understudy.microdata.data_arguments import check_data, check_kept
from understudy.microdata.label_table import empirical_labels, others_labels
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, stream
from understudy.risk.forest import grow_on_shares
from understudy.risk.identification import pattern_frame
from understudy.risk.own_record.attack_effects import AttackEffect, attack_effects, limit_effect
from understudy.risk.own_record.attacks import ATTACKS
from understudy.risk.own_record.chances import Attacked, Chances, Key
from understudy.risk.own_record.from_draws import attack_draws, k_hats, read_draws
from understudy.risk.own_record.from_files import attack_sets, compare_with_control
from understudy.risk.own_record.from_table import attack_reference
from understudy.risk.own_record.refits import refit_without
from understudy.risk.own_record.sampled_people import (
    FitOfPeople,
    SampledPeople,
    refit_of_people,
    sample_people,
)
from understudy.risk.own_record.totals import totals_effects
from understudy.risk.pareto_smoothing import RELIABLE
from understudy.summaries import counted, number, position_text
from understudy.work_done import Parts

__all__ = ["AttackEffect", "OwnRecordEffect", "own_record_effect"]

MOST_EXACT = 8  # attacked tables that are kept for each data
Evidence = Literal["draws", "closed form", "control group", "others"]
WORDS: dict[Evidence, str] = {
    "draws": "the record left out of the fit's posterior draws by importance weights",
    "closed form": "the table without the record, exactly",
    "control group": "people of the same patterns who were not in the synthesis",
    "others": "weaker evidence, without a fit or a control group: the other records of the pattern "
    "stand in for a release without the person",
}


@dataclass(frozen=True, repr=False, eq=False)
class OwnRecordEffect(Shown):
    """What people's own records give away, attack by attack.

    Attributes
    ----------
    attacks : tuple of AttackEffect
        Every attack in every setting in which it is possible.
    pooled_limit : AttackEffect or None
        The modal guess as for ever more files, where there is a fit. Not among `attacks`: the least
        difference between near ties decides it, so its error is large.
    evidence : {"draws", "closed form", "control group", "others"}
        Where the success without a person's record comes from.
    n_records, n_sets : int
        Sizes.
    covered : int
        Records that the evidence is about: with a control group, those whose pattern is in it.
    unreliable : int
        Records whose weights cannot be trusted (k-hat above 0.7).
    refitted : int
        Of these, those whose combination was fitted again without a record.
    measured : int
        Records that were attacked: all of them, or of very large data a random sample that stands
        for all; its sampling error is in the standard errors.
    """

    _frames: ClassVar[tuple[str, ...]] = ("effects",)
    attacks: tuple[AttackEffect, ...]
    pooled_limit: AttackEffect | None
    evidence: Evidence
    n_records: int
    n_sets: int
    covered: int
    unreliable: int
    refitted: int
    measured: int
    _data: Microdata
    _chances: Mapping[Key, Chances]
    _people: SampledPeople | None

    @property
    def effects(self) -> pl.DataFrame:
        """One row per attack and setting, a column per attribute of `AttackEffect`."""
        rows = [{**asdict(attack), "known": ", ".join(attack.known)} for attack in self.attacks]
        numbers = ("with_record", "without_record", "effect", "standard_error", "exact_table",
                   "position", "position_error", "doubtful")  # fmt: skip
        return pl.DataFrame(
            rows, schema_overrides=dict.fromkeys(numbers, pl.Float64), infer_schema_length=None
        )

    def worst(self, setting: str = "worst case") -> AttackEffect:
        """Find the attack with the highest position.

        Parameters
        ----------
        setting : {"worst case", "as released"}
            Which attacks to look at.
        """
        check_one_of("setting", setting, dict.fromkeys(attack.setting for attack in self.attacks))
        listed = [attack for attack in self.attacks if attack.setting == setting]
        return max(listed, key=lambda attack: (attack.position, attack.effect))

    def per_record(
        self, attack: str, known: Sequence[str] = (), setting: str = "worst case"
    ) -> NDArray[np.float64]:
        """Give each record's own effect. Confidential.

        Parameters
        ----------
        attack : str
            One of those in `attacks`.
        known : sequence of str
            What the intruder knows, for matching.
        setting : {"worst case", "as released"}
            Rows aligned or not.

        Returns
        -------
        float64 (record,)
            Success with the record less success without, in the order of the records; NaN for
            people who were not measured.
        """
        chances = self._chances.get(Key(attack, setting == "as released", tuple(known)))
        if chances is None:
            listed = sorted({key.attack for key in self._chances})
            raise SettingError(
                expected=f"an attack that was measured: {quoted_list(listed)}, for matching with "
                "its knowledge",
                came="another one",
                do="use names from the list",
            )
        effect: NDArray[np.float64] = chances.with_record - chances.without_record
        if self._people is not None:
            effect = self._people.on_all(effect)
        return effect[self._data.of_record]

    def per_pattern(self, attack: str, known: Sequence[str] = ()) -> pl.DataFrame:
        """Add up the records' effects by pattern of the kept variables. Confidential.

        Parameters
        ----------
        attack, known
            As in `per_record`.

        Returns
        -------
        polars.DataFrame
            One row per pattern: the kept variables, ``records`` and ``effect``.
        """
        return pattern_frame(self._data, {"effect": self.per_record(attack, known)})

    def _described(self) -> Described:
        """Show a readable table, and the worst attack in natural frequencies."""
        rows = [
            (
                ATTACKS[attack.attack]
                + (f", knows {quoted_list(attack.known)}" if attack.known else ""),
                attack.setting,
                number(attack.with_record),
                number(attack.without_record),
                f"{number(attack.effect)} ± {number(attack.standard_error)}",
                number(attack.exact_table),
                f"{position_text(attack.position)} ± {attack.position_error:.2f}",
            )
            for attack in self.attacks
        ]
        header = ("attack", "setting", "with", "without", "effect", "exact table", "position")
        worst = self.worst()
        lines = [
            f"  worst: {ATTACKS[worst.attack]}: {worst.sentence(self.n_records)}",
            f"  without: {WORDS[self.evidence]}",
        ]
        if self.pooled_limit is not None:
            lines.append(
                "  most frequent label of the pattern, for ever more files (not judged: near ties "
                f"decide): {self.pooled_limit.sentence(self.n_records)}"
            )
        if self.measured < self.n_records:
            lines.append(
                f"  measured for a random sample of {self.measured:,} people, who stand for all; "
                "the errors are those of the sample too"
            )
        if self.covered < self.n_records:
            lines.append(f"  about {self.covered:,} records whose pattern the control group has")
        if self.evidence == "draws":
            lines.append(
                f"  weights cannot be trusted for {counted(self.unreliable, 'record')}; "
                f"{self.refitted:,} of them measured by fits without such a record"
            )
        return Described(f"Own-record effect, {self.n_records:,} records", header, rows, lines)

    def _panels(self) -> Mapping[str, Panel]:
        names = [
            f"{ATTACKS[attack.attack]}, {attack.setting}"
            + (f", knows {', '.join(attack.known)}" if attack.known else "")
            for attack in self.attacks
        ]
        return {
            "position": Panel(
                "own-record effect, as a share of the exact table's",
                names,
                [attack.position for attack in self.attacks],
                [attack.position - 2 * attack.position_error for attack in self.attacks],
                [attack.position + 2 * attack.position_error for attack in self.attacks],
                values_name="effect ± 2 standard errors",
            ),
            "people": Panel(
                f"records attacked rightly, of {self.n_records:,}",
                names,
                [attack.with_record for attack in self.attacks],
                references={
                    "without the own record": [attack.without_record for attack in self.attacks]
                },
                values_name="with it",
            ),
        }


@in_users_kind
@only_our_errors
def own_record_effect(
    data: Microdata,
    source: Any,
    known: Sequence[str] | Sequence[Sequence[str]] | str | None = None,
    *,
    sets: int = 20,
    control: Any = None,
    refit: Callable[[Microdata], Any] | None = None,
    folds: int = 4,
    seed: int | None = None,
) -> OwnRecordEffect:
    """Measure what people's own records give away, by every attack.

    Parameters
    ----------
    data : Microdata
        The confidential records, as files show them.
    source : fit, SyntheticSets, or sequence of frames or paths
        A fit of these data (a model's or a baseline's), or synthetic sets made by any tool. Of a
        fit whose levels were merged afterwards, the effect is that of the coarse files.
    known : sequence of str, or several such sequences
        Kept variables that an intruder who matches knows besides the true label, or such lists for
        several intruders; all kept variables when left out.
    sets : int
        Files that are released, where `source` is a fit.
    control : Microdata, frame or path, optional
        People who were not in the synthesis, with the same variables: for synthetic sets without
        their fit.
    refit : callable, optional
        Takes microdata and gives a fit of the same model; used where importance weights cannot be
        trusted, on the data without such records.
    folds : int
        How many fits without such records; each leaves some of them out.
    seed : int, optional
        Makes what is simulated repeatable.

    Returns
    -------
    OwnRecordEffect

    Notes
    -----
    With p_s the probability of the record's label in draw s and L_s its likelihood there, the row
    attack has success E p_s with the record and sum_s (p_s / L_s) / sum_s (1 / L_s) without; for
    L_s = p_s that is 1 / E[1 / p_s].

    Examples
    --------
    >>> import understudy as us
    >>> data = us.load_ce_like()
    >>> effect = us.own_record_effect(data, us.Perfect().fit(data), seed=1)
    >>> row = effect.attacks[0]
    >>> round(row.with_record, 1), round(row.without_record, 1), round(row.position, 2)
    (172.6, 133.9, 1.0)
    """
    check_data(data)
    why = "people can be attacked by their pattern"
    check_kept(data, why, "use fully_synthetic_risk, which needs none")
    root = check_seed(seed)
    knowledge = _knowledge(data, known)
    check_whole("folds", folds, 1)
    coarsening: Coarsening | None = getattr(source, "coarsening", None)
    data = data if coarsening is None else coarsening.told_apart
    draws_given = hasattr(source, "left_out_weights_tables")
    unreliable = refitted = 0
    covered = data.n_records
    people: SampledPeople | None = None
    if draws_given or hasattr(source, "left_out_table"):
        _check_of_these_data(source, data)
    if draws_given:
        people = sample_people(stream(root, "own record", "people"), data, knowledge, coarsening)
    if people is not None:
        source, refit = FitOfPeople(source, people), refit and refit_of_people(people, refit)
    in_doubt = None  # (combination,) records whose weights cannot be trusted
    evidence: Evidence
    if draws_given or hasattr(source, "left_out_table"):
        attacked = Attacked(
            data if people is None else people.data,
            knowledge,
            check_whole("sets", sets, 1),
            coarsening if people is None else people.coarsening,
        )
        generator = stream(root, "own record", "fit")
        if draws_given:
            done = Parts(1, 1, 0 if refit is None else 5 * folds, 1, 3, 1)
            evidence, draws = "draws", done(read_draws(source, attacked))
            doubtful = np.flatnonzero(done(k_hats(draws, attacked)) > RELIABLE)
            again = done(
                {} if refit is None else refit_without(generator, attacked, doubtful, refit, folds)
            )
            unreliable, refitted = (
                _people_of(attacked, people, which) for which in (doubtful, list(again))
            )
            in_doubt = np.zeros(attacked.data.n_combinations, dtype=np.int64)  # (combination,)
            in_doubt[doubtful] = attacked.data.counts[doubtful]
            in_doubt[list(again)] = 0
            shares, grown = draws.pattern.mean(axis=0), stream(root, "own record", "forest")
            forest = done(grow_on_shares(grown, attacked.data, shares, attacked.n_sets))
            chances = done(attack_draws(generator, draws, attacked, again, forest))
        else:
            evidence, table = "closed form", source.label_tables()[0]
            chances = attack_reference(
                generator,
                attacked,
                (table, source.left_out_table()),
                (source.pattern_table(), source.left_out_pattern_table()),
            )
        exact, totals = _scales(root, attacked, people)
    else:
        measured = attack_sets(stream(root, "own record", "forest"), data, source, knowledge)
        attacked = Attacked(data, knowledge, measured.n_sets)
        exact, totals = _scales(root, attacked, None)
        if control is None:
            evidence, chances = "others", measured.against(exact)
        else:
            evidence = "control group"
            generator = stream(root, "own record", "control")
            chances, covered = compare_with_control(generator, attacked, measured, control)
    return OwnRecordEffect(
        attacks=attack_effects(attacked, chances, (exact, totals), in_doubt, people),
        pooled_limit=limit_effect(attacked, chances, exact, people),
        evidence=evidence,
        n_records=data.n_records,
        n_sets=attacked.n_sets,
        covered=covered,
        unreliable=unreliable,
        refitted=refitted,
        measured=attacked.data.n_records,
        _data=data,
        _chances=chances,
        _people=people,
    )


def _check_of_these_data(fit: Any, data: Microdata) -> None:
    """Refuse a fit of other data, where their combinations or labels are more or fewer."""
    own = getattr(fit, "data", None)
    if isinstance(own, Microdata):
        shape = own.n_combinations, own.n_labels
    else:
        table = next(iter(fit.label_tables()))
        shape = table.row_of_combination.size, table.probabilities.shape[1]
    if shape != (data.n_combinations, data.n_labels):
        raise InputError(
            expected="a fit of these data",
            came="one of data with other combinations or labels",
            do="fit the model to the data that the effect is measured on",
        )


def _people_of(attacked: Attacked, people: SampledPeople | None, which: Any) -> int:
    """Count the records of some combinations, or those that they stand for."""
    counted = int(attacked.data.counts[which].sum())
    return counted if people is None else round(counted * people.scale)


def _knowledge(data: Microdata, known: Any) -> list[tuple[str, ...]]:
    """List the knowledge of each intruder who matches."""
    if known is None:
        return [data.kept]
    if not isinstance(known, Iterable):
        raise SettingError(
            expected="what an intruder knows as a list of names, or several such lists",
            came=kind_of(known),
            do=f"name some of {quoted_list(data.kept)}",
        )
    listed = [known] if isinstance(known, str) else list(known)
    if all(isinstance(name, str) for name in listed):
        return [data.known(listed)]
    return list(dict.fromkeys(data.known(names) for names in listed))


_Scales = tuple[dict[Key, Chances], dict[Key, float]]  # of the exact table, of totals alone
_EXACT: WeakKeyDictionary[Microdata, dict[tuple[Any, ...], _Scales]] = WeakKeyDictionary()
_ATTACKED = threading.Lock()  # the second of two fits that are measured side by side waits


def _scales(seed: int, attacked: Attacked, people: SampledPeople | None) -> _Scales:
    """Attack the exact table and the totals alone; kept for the next fit of the same data."""
    whole = attacked.data if people is None else people.whole
    depends = (seed, tuple(attacked.known), attacked.n_sets, people is None)
    with _ATTACKED:
        kept = _EXACT.setdefault(whole, {})
        if depends not in kept:
            while len(kept) >= MOST_EXACT:
                del kept[next(iter(kept))]
            plain = replace(attacked, coarsening=None)  # of the table that files show
            totals = totals_effects(stream(seed, "own record", "totals"), plain, people)
            kept[depends] = _attack_exact_table(seed, plain, people), totals
        return kept[depends]


def _attack_exact_table(
    seed: int, attacked: Attacked, people: SampledPeople | None
) -> dict[Key, Chances]:
    perfect = empirical_labels(attacked.data)
    others = others_labels(attacked.data, None if people is None else people.label_totals)
    generator = stream(seed, "own record", "exact table")
    return attack_reference(generator, attacked, (perfect, others), (perfect, others))
