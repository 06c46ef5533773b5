"""What "similar" means: a panel in, an array (series, features) out. Series close in features are similar.

To add one: a frozen dataclass with `name` that takes a panel, exported here and listed in `finding.py`. Features never
depend on the order of the rows, leave the panel untouched and are deterministic. Groups are formed on them; what is
published are aggregates of the originals.
"""

from shoal.features import interests
from shoal.features.auto_metric import AutoMetric
from shoal.features.by_name import FeatureName, describe_features, find_features
from shoal.features.custom import Custom
from shoal.features.deep_metric import DeepMetric
from shoal.features.haar import Haar
from shoal.features.kept import Kept, keep
from shoal.features.learned import Learned
from shoal.features.linear_metric import LinearMetric
from shoal.features.plain import Centred, Features, Raw
from shoal.features.shown_groups import ShownGroups
from shoal.features.standardized import Standardized

__all__ = [
    "AutoMetric",
    "Centred",
    "Custom",
    "DeepMetric",
    "FeatureName",
    "Features",
    "Haar",
    "Kept",
    "Learned",
    "LinearMetric",
    "Raw",
    "ShownGroups",
    "Standardized",
    "describe_features",
    "find_features",
    "interests",
    "keep",
]


def __dir__() -> list[str]:
    return sorted(__all__)
