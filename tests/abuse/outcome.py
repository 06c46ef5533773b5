"""What a group of tries comes to."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """Tries by kind, and findings: each says enough to find the try again."""

    tries: Counter = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def find(self, text):
        """Note a finding; of many alike, twenty are enough to see what they have in common."""
        if len(self.findings) < 200:
            self.findings.append(text)

    def as_dict(self):
        return {"tries": dict(self.tries), "findings": self.findings}
