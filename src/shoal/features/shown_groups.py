"""The groups that analysts were shown: a later release of the same people must stay within them.

What a label task shows is a release. If the groups of the next release cross those shown, anyone who holds both can
intersect them, and two crowds of k may have only one person in common. If they lie within them, every intersection is a
whole group.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import GuaranteeNotMetError, InputError
from shoal.model import Panel
from shoal.model.names import text_of

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]

FILE_NAME = "shown.json"
"""Its file name in the folder of a label task."""

NOT_SHOWN = -1
_UNKNOWN = -2
_FORMAT = 1
_KEY_BYTES = 32


@dataclass(frozen=True, eq=False)
class Present:
    """Which of the people shown are in a panel; those of several shards add up."""

    n_series: int
    n_unknown: int
    """Series that belong to no single group."""
    series: NDArray[np.bool_]
    subjects: NDArray[np.bool_]
    """For each series that was shown, whether it, and whether its subject, is present."""
    owners: frozenset[tuple[int, int]]
    """Series that were shown, each with its subject here."""

    @property
    def anybody(self) -> bool:
        """Whether anyone was shown."""
        return bool(self.series.any() or self.subjects.any())

    def __add__(self, other: Present) -> Present:
        return Present(
            self.n_series + other.n_series,
            self.n_unknown + other.n_unknown,
            self.series | other.series,
            self.subjects | other.subjects,
            self.owners | other.owners,
        )


@dataclass(frozen=True, eq=False, repr=False)
class ShownGroups:
    """The group in which each series of a label task was shown, under keyed hashes of its id and its subject.

    For the publisher only: with a list of names, anyone who has it can find out who was shown with whom.

    Parameters
    ----------
    key
        The key of the hashes.
    series, subjects
        The hash of each series and of the subject behind it.
    groups
        The group in which each was shown.
    k
        The smallest crowd that task and release together promise to leave.

    Examples
    --------
    >>> shown = ShownGroups.of(Panel([[1.0], [2.0], [8.0], [9.0]], ids=["a", "b", "c", "d"]), [0, 0, 1, 1], k=2)
    >>> shown.within(Panel([[7.0], [3.0], [5.0], [6.0]], ids=["d", "a", "b", "c"])).tolist()
    [1, 0, 0, 1]
    """

    key: bytes
    series: Hashes
    subjects: Hashes
    groups: Numbers
    k: int

    @staticmethod
    def of(panel: Panel, groups: Sequence[int] | Numbers, k: int) -> ShownGroups:
        """Record the group of each series of a panel, under a random key from the operating system."""
        key = secrets.token_bytes(_KEY_BYTES)
        series, subjects = _hashes(key, panel.ids.tolist(), None if panel.subjects is None else panel.subjects.tolist())
        return ShownGroups(key, series, subjects, np.asarray(groups, dtype=np.int64), int(k))

    @property
    def n_subjects(self) -> int:
        """How many people were shown."""
        return len(np.unique(self.subjects))

    def concern(self, panel: Panel) -> bool:
        """Whether anyone in a panel was shown, identified by id or subject."""
        return self.present(panel).anybody

    def within(self, panel: Panel) -> Numbers:
        """The group in which each series of a panel was shown, NOT_SHOWN for series of people who were not.

        A series is identified by its id. A subject whose series were all shown in one group belongs there with any
        other series too, for example of another day; one whose series were shown in several groups may appear only with
        those same series. Raises GuaranteeNotMetError if others appear, or if a few of a group are left out: their
        absence would identify them.
        """
        self.refuse(self.present(panel))
        return self.labels(panel.ids.tolist(), None if panel.subjects is None else panel.subjects.tolist())

    def labels(self, ids: Sequence[Any], subjects: Sequence[Any] | None) -> Numbers:
        """Like `within` for series by name, each separately: for shards, `refuse` judges all of them."""
        series, owners = _hashes(self.key, ids, subjects)
        of_series, of_subject = self._groups_by_name
        pairs = zip(series.tolist(), owners.tolist(), strict=True)
        found = [of_series.get(own, of_subject.get(owner, NOT_SHOWN)) for own, owner in pairs]
        return np.array([_UNKNOWN if group is None else group for group in found], dtype=np.int64)

    @cached_property
    def _groups_by_name(self) -> tuple[dict[int, int], dict[int, int | None]]:
        of_series = dict(zip(self.series.tolist(), self.groups.tolist(), strict=True))
        return of_series, _group_of_each(self.subjects, self.groups)

    def present(self, panel: Panel) -> Present:
        """Which of the people shown are in a panel, or in a shard of one."""
        subjects = None if panel.subjects is None else panel.subjects.tolist()
        series, owners = _hashes(self.key, panel.ids.tolist(), subjects)
        known = np.isin(series, self.series)
        return Present(
            n_series=panel.n_series,
            n_unknown=int((self.labels(panel.ids.tolist(), subjects) == _UNKNOWN).sum()),
            series=np.isin(self.series, series),
            subjects=np.isin(self.subjects, owners),
            owners=frozenset(zip(series[known].tolist(), owners[known].tolist(), strict=True)),
        )

    def refuse(self, present: Present) -> None:
        """Refuse a panel with other series of the same people, or without a few of a group."""
        self._refuse_split(present)
        if present.n_unknown:
            raise GuaranteeNotMetError(
                f"{present.n_unknown} of {present.n_series} series are of subjects whose other series analysts were "
                "shown in several groups, so there is no group these could stay within. Release the series that were "
                "shown, or leave these subjects out."
            )
        self._refuse_absent(present)

    def _refuse_split(self, present: Present) -> None:
        """Refuse a panel in which one person's series belong to several subjects: a crowd of these would be fewer
        people."""
        whose = dict(zip(self.series.tolist(), self.subjects.tolist(), strict=True))
        found: dict[int, set[int]] = {}
        for own, owner in present.owners:
            found.setdefault(whose[own], set()).add(owner)
        if split := sum(len(several) > 1 for several in found.values()):
            raise GuaranteeNotMetError(
                f"{split} subject(s) whose series analysts were shown are several subjects here. Read the table with "
                "the same id and subject columns as the task."
            )

    def _refuse_absent(self, present: Present) -> None:
        """Refuse a panel that lacks some, but fewer than k, subjects of a group."""
        of_subject = self._groups_by_name[1]
        in_one = np.array([of_subject[subject] is not None for subject in self.subjects.tolist()], dtype=np.bool_)
        here = present.series | (in_one & present.subjects)
        absent = [len(np.unique(self.subjects[(self.groups == g) & ~here])) for g in np.unique(self.groups).tolist()]
        few = [n for n in absent if 0 < n < self.k]
        if few and here.any():
            raise GuaranteeNotMetError(
                f"Of {len(few)} group(s) that analysts were shown, series of at least {min(few)} subject(s) are not "
                f"in the panel, but of fewer than {self.k}: their absence would identify them. Release all series "
                "that were shown, or drop whole groups."
            )

    def as_bytes(self) -> bytes:
        """JSON that ends with the SHA-256 of everything before it."""
        content = {
            "format": _FORMAT,
            "key": self.key.hex(),
            "k": int(self.k),
            "series": _text(self.series, "<u8"),
            "subjects": _text(self.subjects, "<u8"),
            "groups": _text(self.groups, "<i8"),
        }
        return (json.dumps(content | {"sum": _sum(content)}) + "\n").encode()

    @staticmethod
    def from_bytes(content: bytes) -> ShownGroups:
        """Parse the groups; ValueError if they were changed."""
        try:
            read = json.loads(content)
            if not isinstance(read, dict) or read.pop("sum", None) != _sum(read) or read["format"] != _FORMAT:
                raise ValueError
            series, subjects = (_array(read[name], "<u8").astype(np.uint64) for name in ("series", "subjects"))
            groups = _array(read["groups"], "<i8").astype(np.int64)
            if not len(series) == len(subjects) == len(groups) or type(read["k"]) is not int:
                raise ValueError
            return ShownGroups(bytes.fromhex(read["key"]), series, subjects, groups, read["k"])
        except (KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError("shown groups") from None

    @staticmethod
    def load(path: str | Path) -> ShownGroups:
        """Read the file in the folder of a label task."""
        try:
            return ShownGroups.from_bytes(Path(path).read_bytes())
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from None
        except ValueError:
            raise InputError(
                f"{path} is not the {FILE_NAME} of a label task, or was changed since the task wrote it. Give the "
                "original file, or build the task again."
            ) from None

    def __repr__(self) -> str:
        return f"ShownGroups({len(self.series)} series in {len(np.unique(self.groups))} groups, k={self.k})"


def _group_of_each(subjects: Hashes, groups: Numbers) -> dict[int, int | None]:
    """The one group of each subject; None if there are several."""
    group_of: dict[int, int | None] = {}
    for subject, group in zip(subjects.tolist(), groups.tolist(), strict=True):
        group_of[subject] = group if group_of.get(subject, group) == group else None  # None stays None
    return group_of


def _hashes(key: bytes, ids: Sequence[Any], subjects: Sequence[Any] | None) -> tuple[Hashes, Hashes]:
    """The hash of each series and of its subject; without named subjects, the series are the subjects."""
    series = _hashed(key, ids)
    return series, series if subjects is None else _hashed(key, subjects)


def _hashed(key: bytes, names: Iterable[Any]) -> Hashes:
    digests = [hmac.digest(key, text_of(name).encode(), "sha256")[:8] for name in names]
    return np.array([int.from_bytes(digest, "little") for digest in digests], dtype=np.uint64)


def _sum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _text(numbers: NDArray[Any], kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(numbers.astype(kind)).tobytes()).decode()


def _array(text: str, kind: str) -> NDArray[Any]:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=kind)
