"""What a study will need of memory, estimated before its first computation.

The values are those of the largest stage of each kind, measured with ``python -m
benchmarks.scale`` and rounded up: of records, the rows of all files of the intruder who holds all;
of a fit, its chains and six times the label probabilities that are kept, which are put together and
judged; of utility, simulated sets as counts of combinations, and the distinct rows of all sets.
"""

from __future__ import annotations

from collections.abc import Mapping

from understudy.findings.own_record import own_record_bytes
from understudy.memory import check_fits
from understudy.microdata.table import Microdata
from understudy.study.planned_fit import PlannedFit
from understudy.synthesis.registry import MODELS, TABLE_BYTES
from understudy.synthesis.run_fit import MOST_CELLS, MOST_SNAPSHOTS

__all__ = ["check_memory", "memory_needs"]

PROGRAM = 3 * 10**8  # bytes: libraries and compiled code
OF_RECORD = 80  # bytes of a record while labels are drawn and matched
OF_ROW = 12  # and of every row of the files that are attacked together
OF_PAIR = 850  # of a distinct combination: tables of the baselines, the intruder's model
OF_COUNTS = 200  # of a record while sets are counted
OF_CELL = 600  # of a combination: simulated sets, one set and the original beside each other
OF_SET = 20  # of a combination, in every set
COPIES = 6  # of the kept label probabilities
SOME_DRAWS = 1000  # where their number is open


def memory_needs(
    data: Microdata, sets: int, synthesizers: Mapping[str, PlannedFit]
) -> dict[str, int]:
    """Estimate the bytes that the stages of a study need, by what they are."""
    rows = data.n_records * (OF_RECORD + OF_ROW * sets) + OF_PAIR * data.n_combinations
    words = f"{data.n_records:,} records and {sets} sets, drawn and matched"
    needs = {words: PROGRAM + rows}
    cells = data.n_combinations * (OF_CELL + OF_SET * sets)
    words = f"utility of {sets} sets, with {data.n_combinations:,} combinations"
    needs[words] = PROGRAM + OF_COUNTS * data.n_records + cells
    cells = len(data.patterns) * data.n_labels
    held = 8 * len(data.variables) * data.n_combinations + 4 * data.n_records
    for name, planned in synthesizers.items():
        chains, draws = planned.options["chains"], planned.options["draws"] or SOME_DRAWS
        kept = COPIES * min(TABLE_BYTES, 4 * chains * draws * min(cells, MOST_CELLS))
        of_chains = chains * MODELS[planned.kind].chain_bytes(data)
        needs[f"the chains of {name}"] = PROGRAM + of_chains + kept + held
        if data.kept:
            tables = own_record_bytes(data, chains * min(draws, MOST_SNAPSHOTS))
            words = f"the own-record effect of {name}, with {data.n_labels:,} labels"
            needs[words] = PROGRAM + tables + kept // COPIES + held
    return needs


def check_memory(data: Microdata, sets: int, synthesizers: Mapping[str, PlannedFit]) -> None:
    """Refuse a study that needs more than may be used."""
    for what, needed in memory_needs(data, sets, synthesizers).items():
        check_fits(what, needed, "ask for fewer sets, chains or draws, or keep coarser variables")
