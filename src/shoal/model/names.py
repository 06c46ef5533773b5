"""The canonical spelling under which an identifier, a subject or a sensitive value is counted, everywhere.

The same person comes as 17 from one table and as 17.0 from the next, because a single gap in the column turns numbers
into floats; with a space after the name, or with an accent as a separate character. If these counted as different
people, a person would be part of their own crowd, and two releases that break a promise together would pass. Capitals
and leading zeros do count: in many registers A7 is not a7, and 07 is not 7. For sensitive values capitals do not count,
because it is safer to take two values for one than one for two.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Any

import numpy as np

WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0")


def text_of(name: Any) -> str:
    """The text of an identifier: composed (NFC), without invisible characters, a whole number without decimals.

    Examples
    --------
    >>> text_of(17), text_of(17.0), text_of("17.0"), text_of(" 17 ")
    ('17', '17', '17', '17')
    >>> text_of("Zoe\u0308") == text_of("Zo\u00eb")
    True
    >>> text_of("017"), text_of("a7"), text_of("A7"), text_of(17.5)
    ('017', 'a7', 'A7', '17.5')
    """
    if type(name) is str and name.isascii():  # nearly all of them
        plain = name.strip()
        return _without_decimals(plain) if plain.endswith(".0") else plain
    if isinstance(name, float | np.floating) and float(name).is_integer():
        return str(int(name))
    if isinstance(name, Decimal) and name.is_finite() and name == name.to_integral_value():
        return str(int(name))
    text = unicodedata.normalize("NFC", str(name))
    if not text.isascii():
        # Invisible characters, such as a zero-width space, do not distinguish names.
        text = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    return _without_decimals(text.strip())


def _without_decimals(text: str) -> str:
    whole = WHOLE.fullmatch(text)
    return str(int(whole[1])) if whole else text


def value_of(entry: str) -> str:
    """The text under which a sensitive value is counted: that of a name, without capitals.

    Examples
    --------
    >>> value_of("Flu ") == value_of("flu") == value_of("f\u200blu")
    True
    """
    return text_of(entry).casefold()
