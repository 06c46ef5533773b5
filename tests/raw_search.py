"""Search what leaves the publisher's hands for raw values, raw rows and identifiers."""

import pickle
import struct
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq


def numbers_in(found):
    """Every float in the arrays and containers of an object, however deep, and every text."""
    seen, floats, texts = set(), set(), []

    def walk(thing):
        if id(thing) in seen or isinstance(thing, type) or callable(thing):
            return
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            if thing.dtype.kind == "f":
                floats.update(thing.ravel().tolist())
            elif thing.dtype.kind in "OU":
                walk(thing.tolist())
            walk(thing.base)
        elif isinstance(thing, float):
            floats.add(thing)
        elif isinstance(thing, str):
            texts.append(thing)
        elif isinstance(thing, bytes | bytearray):
            texts.append(thing.decode("latin-1"))
        elif isinstance(thing, dict):
            for key, value in thing.items():
                walk(key)
                walk(value)
        elif isinstance(thing, list | tuple | set | frozenset):
            for part in thing:
                walk(part)
        else:
            for name in {*getattr(thing, "__dict__", {}), *_slots(thing)}:
                walk(getattr(thing, name, None))

    walk(found)
    return floats, texts


def _slots(thing):
    return [name for cls in type(thing).__mro__ for name in getattr(cls, "__slots__", ())]


def leaks_in_object(thing, panel):
    """What an object, or its pickle, holds of a panel."""
    floats, texts = numbers_in(thing)
    found = [f"value in an attribute ({len(floats & raw_values(panel))})"] * bool(floats & raw_values(panel))
    found += leaks_in_text("\n".join(texts), panel)
    return found + leaks_in_bytes(pickle.dumps(thing), panel)


def leaks_in_text(text, panel):
    """Values as Python or six digits write them, and identifiers."""
    found = [f"identifier at {at}" for at, name in enumerate(names(panel)) if name in text]
    return found + [
        f"value at {at}" for at, value in enumerate(raw_values(panel)) if repr(value) in text or f"{value:.6f}" in text
    ]


def leaks_in_bytes(content, panel):
    """Values as the eight bytes of a float, in either order, and identifiers."""
    found = [f"identifier at {at}" for at, name in enumerate(names(panel)) if name.encode() in content]
    return found + [
        f"value at {at}"
        for at, value in enumerate(raw_values(panel))
        if struct.pack("<d", value) in content or struct.pack(">d", value) in content
    ]


def leaks_in_folder(folder, panel):
    """What the files of a folder hold of a panel: as bytes, as text, and as tables."""
    found = []
    for path in sorted(Path(folder).rglob("*")):
        if not path.is_file():
            continue
        content = path.read_bytes()
        leaks = leaks_in_bytes(content, panel) + leaks_in_text(content.decode("latin-1"), panel)
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            leaks += leaks_in_text(str(pq.read_metadata(path).metadata) + str(table.schema), panel)
            leaks += leaks_in_object([table[name].to_numpy() for name in table.column_names], panel)
        if path.suffix == ".npz":
            with np.load(path) as arrays:
                leaks += leaks_in_object({name: arrays[name] for name in arrays.files}, panel)
        found += [f"{path.name}: {leak}" for leak in leaks]
    return found


def raw_values(panel):
    return set(panel.values.ravel().tolist())


def names(panel):
    subjects = [] if panel.subjects is None else panel.subjects.tolist()
    return {str(name) for name in (*panel.ids.tolist(), *subjects) if not str(name).isdecimal()}
