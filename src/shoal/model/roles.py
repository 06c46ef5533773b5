"""What a column may be used for."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from shoal.errors import ParameterError


class Role(StrEnum):
    """The role of a column; it decides whether the column may ever be published."""

    IDENTIFIER = "identifier"
    QUASI_IDENTIFIER = "quasi-identifier"
    SENSITIVE = "sensitive"
    TIME = "time"
    VALUE = "value"
    OTHER = "other"


class Roles(Mapping[str, Role]):
    """Columns and their roles. A column that is not listed has no role and is never published."""

    def __init__(self, roles: Mapping[str, Role | str] | None = None) -> None:
        self._roles: dict[str, Role] = {}
        for column, role in (roles or {}).items():
            try:
                self._roles[column] = Role(role)
            except ValueError:
                raise ParameterError(
                    f"Column {column!r} has an unknown role. Roles are: {', '.join(r.value for r in Role)}."
                ) from None

    def __getitem__(self, column: str) -> Role:
        return self._roles[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._roles)

    def __len__(self) -> int:
        return len(self._roles)

    def columns(self, role: Role | str) -> tuple[str, ...]:
        """The columns that play a role, in the order they were listed."""
        wanted = Role(role)
        return tuple(column for column, found in self._roles.items() if found is wanted)

    def __repr__(self) -> str:
        return f"Roles({ {column: role.value for column, role in self._roles.items()} })"
