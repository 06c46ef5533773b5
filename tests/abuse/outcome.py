"""What a group of tries comes to."""

import sys
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """Tries by kind, and findings: each says enough to find the try again."""

    tries: Counter = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def find(self, text):
        """Note a finding, and print it at once: a run that is stopped keeps what it found."""
        print(f"! {text}", file=sys.stderr, flush=True)
        if len(self.findings) < 200:
            self.findings.append(text)

    def as_dict(self):
        return {"tries": dict(self.tries), "findings": self.findings}
