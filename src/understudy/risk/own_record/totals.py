"""What publishing nothing but the label's totals would give away, by guesses of the modal label.

Labels drawn from the overall distribution (the baseline Marginal) hold nobody's own record in any
way that matters. All the same, where the most frequent labels are nearly tied, each record moves
the guess a little, for everybody at once, and the sum over all records can reach the exact table's
where that has clear modes. An effect no larger than the totals' own is nobody's to prevent, so the
verdict lets it pass.
"""

from __future__ import annotations

import numpy as np

from understudy.microdata.label_table import marginal_labels
from understudy.risk.own_record.chances import Attacked, Key, simulate_pooled
from understudy.risk.own_record.from_table import modal_of_reference
from understudy.risk.own_record.sampled_people import SampledPeople

__all__ = ["totals_effects"]


def totals_effects(
    generator: np.random.Generator, attacked: Attacked, people: SampledPeople | None = None
) -> dict[Key, float]:
    """Own-record effects of labels drawn from the overall distribution, by the modal guesses.

    By the row the effect is at most one record, whatever the data, and is left out. `people` stand
    for all where they are a sample.
    """
    data, scale = attacked.data, 1.0 if people is None else people.scale
    whole = data if people is None else people.whole
    shares, n = marginal_labels(whole).probabilities[0], whole.n_records  # (label,)
    effects = {Key("modal"): 0.0, Key("pooled_modal"): 0.0}
    if n < 2:
        return effects
    for pattern, combinations in enumerate(attacked.of_pattern):
        labels, counts = attacked.label[combinations], data.counts[combinations]
        without = np.maximum(n * shares - np.eye(shares.size)[labels], 0.0) / (n - 1)
        size = int(attacked.sizes[pattern])
        by_file = modal_of_reference(generator, shares, without, labels, size)[:, 0]
        pooled, _ = simulate_pooled(
            generator, attacked, combinations, [(size, shares[None])], shares[None], without[None]
        )
        effects[Key("modal")] += scale * float((by_file[0] - by_file[1]) @ counts)
        effects[Key("pooled_modal")] += scale * float((pooled[0, 0] - pooled[1, 0]) @ counts)
    return effects
