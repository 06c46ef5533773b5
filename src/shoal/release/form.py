"""What the gate and the verification need to know about a form of release."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from shoal.release.certificate import Certificate, ColumnsPart, CountsPart, FormName
from shoal.release.files import FileFormat

P = TypeVar("P")
K = TypeVar("K", contravariant=True)


class Form(Protocol[P, K]):
    """One way to publish: what is published is of the type P, what its publisher keeps of the type K. `name` is the
    word the certificate uses."""

    name: ClassVar[FormName]

    def refuse(self, published: P, private: K) -> str | None:
        """Why the crowd of this candidate cannot be counted, or None."""

    def names_needed(self, published: P, private: K) -> list[Any]:
        """What gets a pseudonym each."""

    def name_of_each_series(self, private: K, names: list[str]) -> list[str]:
        """Under which pseudonym each original series is published, for the publisher's own map."""

    def counts(self, published: P, private: K) -> CountsPart:
        """How much is published."""

    def columns(self, published: P, withheld: int) -> ColumnsPart:
        """Which columns are published."""

    def write(self, published: P, names: list[str], folder: Path, file_format: FileFormat) -> list[Path]:
        """Write the data file, and others that belong to it, under the pseudonyms."""

    def renamed(self, published: P, names: list[str]) -> P:
        """What is published, as its reader will see it."""

    def read(self, folder: Path, certificate: Certificate) -> P:
        """Read the data file back."""

    def findings(self, published: P, certificate: Certificate) -> list[str]:
        """Where the data differs from what the certificate counts."""

    def sizes(self, published: P, certificate: Certificate) -> dict[str, int] | None:
        """How many groups of each size the data has; None if the folder does not show it."""

    def describe(self, published: P, row: int, data_file: str) -> str:
        """Where to look for the row that a check points at."""
