"""The published table of scenarios: `group,count,time,mean,spread,z…,lagged`, sorted by group and time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from shoal.methods.aggregates import groups_of
from shoal.methods.scenarios import group_spreads, pool_shape
from shoal.model import Private, Profiles, Scenarios
from shoal.release.certificate import FormName
from shoal.release.profiles import ProfilesForm

CLOSE = 1e-9
"""Means added up in another order differ in their last digits."""


class ScenariosForm(ProfilesForm):
    """One row per group and instant, with the distribution there."""

    name: ClassVar[FormName] = "scenarios"
    kind: ClassVar[type[Profiles]] = Scenarios

    def refuse(self, published: Profiles, private: Private) -> str | None:
        """A row must count its subjects, and its figures must be the stated ones, not the reading of one member."""
        assert isinstance(published, Scenarios)
        if (found := super().refuse(published, private)) is not None:
            return found
        if faults := published.faults():
            return f"Scenarios contradict themselves: {'; '.join(faults)}."
        x, groups = private.original.rows, private.groups
        if private.original.rows.shape[1] != published.n_instants or (groups < 0).any() or np.isnan(x).any():
            return "Scenarios need every reading of every series: their figures cannot be compared with the originals."
        means = np.stack([x[members].mean(axis=0) for members in groups_of(groups)])
        if (np.abs(means - published.means) > CLOSE * np.abs(x).max()).any():
            return "The means of the scenarios are not those of their groups."
        own = published.means[groups]
        if not np.array_equal(group_spreads(x, groups, own), published.spreads):
            return "The spreads of the scenarios are not those of their groups."
        pools = published.pools
        for pool in np.unique(pools):
            members = np.flatnonzero(pools[groups] == pool)
            spreads = published.spreads[groups[members]]
            shape = pool_shape(x[members], own[members], spreads, published.n_levels)
            if not np.array_equal(shape, published.values[pool, :, 0, 2:]):
                return f"The levels of group {pool} and its pool are not means over equal parts of its pool."
        return None
