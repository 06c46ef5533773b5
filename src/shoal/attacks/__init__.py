"""What someone with partial knowledge learns from a release, against a baseline that never saw it.

To add one, write a frozen dataclass on `shoal.model.Attack`, or on `SeriesAttack` in `ground` for one release of
series. It has `name`, `meaning`, `against` (what it works on), `answers` (which question of the European authorities)
and `knows` (what the adversary holds), and two verbs: `find` (there `look`) takes the original and what was published,
and returns what was found about each target; `risk` summarises all of them. The adversary sees the published side
alone. The original provides what it knows about its targets, and the truth it is scored against.

`against` is one of "values" and "slices" (one release of series), "envelopes" and "events" (one release of that form),
"releases" (several of the same people) and "membership" (one release, and people outside it to compare with). Only the
first two can judge a candidate of series by itself.
"""

from shoal.attacks.completion import Completion
from shoal.attacks.copies import Copies, CopiesRisk
from shoal.attacks.denoising import Denoising, DenoisingRisk
from shoal.attacks.homogeneity import Homogeneity, HomogeneityRisk
from shoal.attacks.intersection import Intersection, IntersectionRisk
from shoal.attacks.known_points import KnownPoints, KnownPointsRisk
from shoal.attacks.known_ranges import KnownRanges, KnownRangesRisk
from shoal.attacks.known_totals import KnownTotals
from shoal.attacks.linkage import Linkage, LinkageRisk
from shoal.attacks.links import LinkRisk
from shoal.attacks.membership import Membership, MembershipRisk
from shoal.attacks.nearest_neighbour import NearestNeighbour
from shoal.attacks.relink import Relink
from shoal.attacks.reordering import Reordering, ReorderingRisk
from shoal.attacks.republication import Republication, RepublicationRisk
from shoal.attacks.subset_sum import SubsetRisk, SubsetSum
from shoal.attacks.unmixing import Unmixing, UnmixingRisk

__all__ = [
    "Completion",
    "Copies",
    "CopiesRisk",
    "Denoising",
    "DenoisingRisk",
    "Homogeneity",
    "HomogeneityRisk",
    "Intersection",
    "IntersectionRisk",
    "KnownPoints",
    "KnownPointsRisk",
    "KnownRanges",
    "KnownRangesRisk",
    "KnownTotals",
    "LinkRisk",
    "Linkage",
    "LinkageRisk",
    "Membership",
    "MembershipRisk",
    "NearestNeighbour",
    "Relink",
    "Reordering",
    "ReorderingRisk",
    "Republication",
    "RepublicationRisk",
    "SubsetRisk",
    "SubsetSum",
    "Unmixing",
    "UnmixingRisk",
]


def __dir__() -> list[str]:
    return sorted(__all__)
