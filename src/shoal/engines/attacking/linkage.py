"""Linkage of known values and shapes to envelopes and words that lie in blocks.

The possible set of a target is a count over published series, so every block counts its own and counts are added: the
probabilities of breach are those of `Linkage` in memory. Targets are drawn, and the interval says so; where all series
are attacked it is a point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.attacks.linkage import Linkage, LinkageRisk
from shoal.attacks.possible_sets import Knowledge, PossibleSets, possible_sets
from shoal.engines.attacking.targets import Rows, Targets, owners_of, pieces
from shoal.engines.blocks import LEVEL, PUBLISHED, WORD, BlockCandidate, Clock
from shoal.engines.contract import Blocks, Shared
from shoal.engines.rows import ID
from shoal.engines.summing import Numbers, add_up
from shoal.errors import ParameterError
from shoal.methods.instants import positions
from shoal.model import Envelopes, Panel


def refuse_linkage(attack: Linkage, candidate: BlockCandidate) -> None:
    """Say no to what is not envelopes, and to what needs more than the targets' own series."""
    if candidate.form != "envelopes":
        raise ParameterError("Linkage attacks envelopes with words; other forms of release have no possible sets.")
    if attack.word == "published":
        raise ParameterError(
            "word='published' needs the published word of every target beside its series, and does not run on an "
            "engine. Use word='own', or attack a part of the series in memory."
        )
    if attack.sensitive is not None:
        raise ParameterError(
            "Linkage to a sensitive column counts who shares a value in all of it, and does not run on an engine. "
            "Leave sensitive out, or attack a part of the series in memory."
        )


def attack_envelopes(attack: Linkage, candidate: BlockCandidate, targets: Targets) -> LinkageRisk:
    """The risk of the targets, every published series being a candidate."""
    panel = candidate.panel
    shown = positions("pattern_instants", candidate.recipe.parameters.get("pattern_instants"), panel.clock.n_instants)
    scene = Scene(
        attack=attack,
        clock=candidate.clock,
        originals=Panel(targets.values[:, :, 0], times=panel.clock.times),
        pattern_times=panel.clock.times[shown],
        ids=targets.ids,
        subjects=targets.subjects,
        of_targets=targets.of_targets,
    )
    n = len(targets.positions)
    found = add_up(panel.engine, candidate.table, _Count(panel.engine.share(scene)), 2 * n + 1)
    same = np.bincount(targets.of_targets)[targets.of_targets]
    return attack.conclude(
        PossibleSets(found[:n], found[n : 2 * n]),
        float(same.mean()) / panel.n_series,
        targets.positions,
        n_series=panel.n_series,
        n_missed=int(found[-1]),
        n_suppressed=panel.n_series - candidate.n_series,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """What every worker needs: it travels once."""

    attack: Linkage
    clock: Clock
    originals: Panel
    pattern_times: NDArray[Any]
    ids: pa.Array
    subjects: pa.Array
    of_targets: Rows


@dataclass(frozen=True)
class _Count:
    """For each target how many series of a part it may be, and how many are its own; and own ones that it is not."""

    scene: Shared[Scene]

    def __call__(self, blocks: Blocks) -> Numbers:
        scene = self.scene.value
        n = scene.originals.n_series
        counts = np.zeros(2 * n + 1, dtype=np.int64)
        for piece, values in pieces(blocks, PUBLISHED, scene.clock):
            envelopes = Envelopes(
                values[:, :, 0],
                values[:, :, 1],
                piece.column(LEVEL).to_numpy(),
                tuple(piece.column(WORD).to_pylist()),
                scene.clock.times,
                pattern_times=scene.pattern_times,
            )
            known = Knowledge.of(scene.originals, envelopes, values=scene.attack.values, pattern=scene.attack.pattern)
            whose = owners_of(piece, scene.subjects)
            shown = np.where(whose < 0, len(scene.subjects), whose)  # all others have a value that no target has
            found = possible_sets(known, shown, scene.of_targets)
            counts[:n] += found.sizes
            counts[n : 2 * n] += found.own
            target = pc.index_in(piece.column(ID), value_set=scene.ids).fill_null(-1).to_numpy(zero_copy_only=False)
            rows = np.flatnonzero(target >= 0)
            counts[-1] += np.count_nonzero(~known.contains(target[rows].astype(np.int64), rows))
        return counts
