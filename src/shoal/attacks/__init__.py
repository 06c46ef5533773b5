"""What somebody with knowledge of some series gets out of a release, against a baseline that never saw it.

To add one: a frozen dataclass with `name`, `meaning`, `parameters` and a verb `attack` that takes the original and what
was published, and gives a `Risk`.
"""

from shoal.attacks.homogeneity import Homogeneity, HomogeneityRisk
from shoal.attacks.linkage import Linkage, LinkageRisk

__all__ = ["Homogeneity", "HomogeneityRisk", "Linkage", "LinkageRisk"]
