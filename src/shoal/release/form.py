"""What the gate and the verification need to know about a form of release."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Protocol

from shoal.release.certificate import Certificate, ColumnsPart, CountsPart, FormName
from shoal.release.files import FileFormat


class Form(Protocol):
    """One way to publish. `name` is the word the certificate uses. Each form handles its own type."""

    name: ClassVar[FormName]

    def refuse(self, published: Any, private: Any) -> str | None:
        """Why the crowd of this candidate cannot be counted, or None."""

    def names_needed(self, published: Any, private: Any) -> list[Any]:
        """What gets a pseudonym each."""

    def name_of_each_series(self, private: Any, names: list[str]) -> list[str]:
        """Under which pseudonym each original series is published, for the publisher's own map."""

    def counts(self, published: Any, private: Any) -> CountsPart:
        """How much is published."""

    def columns(self, published: Any, withheld: int) -> ColumnsPart:
        """Which columns leave."""

    def write(self, published: Any, names: list[str], folder: Path, file_format: FileFormat) -> list[Path]:
        """Write the data file, and others that belong to it, under the pseudonyms."""

    def renamed(self, published: Any, names: list[str]) -> Any:
        """What is published, as its reader will see it."""

    def read(self, folder: Path, certificate: Certificate) -> Any:
        """Read the data file back."""

    def findings(self, published: Any, certificate: Certificate) -> list[str]:
        """Where the data differs from what the certificate counts."""

    def sizes(self, published: Any, certificate: Certificate) -> dict[str, int] | None:
        """How many groups of each size the data has; None if the folder does not show it."""

    def describe(self, published: Any, row: int, data_file: str) -> str:
        """Where to look for the row that a check points at."""
