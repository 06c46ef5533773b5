"""Ways to anonymize. Each is a frozen dataclass with the property `aims_at` and one verb, anonymize() -> Candidate.

To add one: a file here, exported below. The contract tests, `shoal methods` and the options of `shoal anonymize` pick
it up.
"""

from shoal.methods.kp import KP
from shoal.methods.microaggregation import Microaggregation
from shoal.methods.nlk import NLK
from shoal.methods.reposition import Reposition

__all__ = ["KP", "NLK", "Microaggregation", "Reposition"]
