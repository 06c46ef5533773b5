"""Contents that resemble what a reader expects: bytes, cells and JSON of a real file with something done to them."""

import json
from copy import deepcopy

NUMBERS = ["", "0", "-0", "-1", "NaN", "nan", "inf", "-inf"]
NUMBERS += ["1e308", "1e999", "1e-400", "9" * 40, "0x10", "1_000", "1,5"]
TIMES = ["9999-12-31 23:59", "0000-00-00", "2024-02-30", "2024-03-31 02:30", "1e18", "99999999999999999999", "24:00"]
WORDS = ["null", "None", "true", "=1+1", '"', "'", "\\", "\t", "\r", "a" * 5000]
WORDS += ["\u202e", "é", "\ufeff", "\x00", "\ud7ff"]
BYTES = [b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\n\n", b"\r", b'"', b",", b";"]
BYTES += [b"PAR1", b"PK\x03\x04", b"\x1f\x8b"]
THINGS = [None, True, False, 0, -1, 1, 2**63, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), "", "x", "1"]
THINGS += ["a" * 5000, "\x00", "\ud800", "../..", "/etc/passwd", [], {}, [[]], [None], {"": None}, "2024-01-01", "NaN"]


def mutate_bytes(rng, content, other=b""):
    """One to four changes of bytes: flipped, cut, doubled, put in, moved, or taken from another file."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randint(0, len(content)), rng.choice([1, 1, 2, 8, 64, 512])
        kind = rng.randrange(7)
        if kind == 0 and content:
            content[at % len(content)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del content[at : at + length]
        elif kind == 2:
            content[at:at] = content[at : at + length]
        elif kind == 3:
            content[at:at] = rng.choice(BYTES)
        elif kind == 4:
            del content[at:]
        elif kind == 5 and other:
            start = rng.randrange(len(other))
            content[at : at + length] = other[start : start + length]
        else:
            content[at : at + length] = bytes(rng.randrange(256) for _ in range(min(length, 16)))
    return bytes(content)


def mutate_cells(rng, content):
    """A text table with cells exchanged, replaced or shifted, lines dropped or doubled; None where it is no text."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    mark = max(",;\t|", key=text.count)
    lines = [line.split(mark) for line in text.split("\n")]
    for _ in range(rng.randint(1, 5)):
        row = lines[rng.randrange(len(lines))]
        kind = rng.randrange(7)
        if kind == 0:
            row[rng.randrange(len(row))] = rng.choice(rng.choice([NUMBERS, TIMES, WORDS]))
        elif kind == 1:
            other = lines[rng.randrange(len(lines))]
            a, b = rng.randrange(len(row)), rng.randrange(len(other))
            row[a], other[b] = other[b], row[a]
        elif kind == 2:
            del row[rng.randrange(len(row))]
        elif kind == 3:
            row.insert(rng.randrange(len(row) + 1), rng.choice(NUMBERS))
        elif kind == 4 and len(lines) > 2:
            del lines[rng.randrange(1, len(lines))]
        elif kind == 5:
            lines.insert(rng.randrange(1, len(lines) + 1), list(row))
        else:
            column = rng.randrange(len(lines[0]))
            value = rng.choice(rng.choice([NUMBERS, TIMES, WORDS]))
            for line in lines[1:]:
                if column < len(line) and rng.random() < 0.5:
                    line[column] = value
        lines = [line or [""] for line in lines] or [[""]]
    return "\n".join(mark.join(line) for line in lines).encode(errors="surrogatepass")


def mutate_tree(rng, tree):
    """JSON or YAML with values replaced, moved, dropped or added, keys renamed, or something nested very deep."""
    tree = json.loads(json.dumps(tree))
    for _ in range(rng.randint(1, 3)):
        places = [(holder, key) for holder, key in _places(tree)]
        if not places:
            return _thing(rng)
        holder, key = rng.choice(places)
        kind = rng.randrange(8)
        if kind <= 2:
            holder[key] = _thing(rng)
        elif kind == 3:
            del holder[key]
        elif kind == 4:
            other, from_key = rng.choice(places)
            holder[key] = json.loads(json.dumps(other[from_key]))
        elif kind == 5 and isinstance(holder, dict):
            holder[rng.choice(["", "x", "format", str(key) + "s", "__proto__"])] = _thing(rng)
        elif kind == 6 and isinstance(holder, list):
            holder.insert(rng.randint(0, len(holder)), _thing(rng))
        else:
            holder[key] = _near(rng, holder[key])
    return tree


def _thing(rng):
    """A copy: one that were put into itself could not be written, and the next try would begin with it."""
    return deepcopy(rng.choice(THINGS))


def _near(rng, value):
    """Something of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 1000, -value])
    if isinstance(value, float):
        return value * rng.choice([-1.0, 1.0000001, 1e10])
    if isinstance(value, str):
        return rng.choice([value[:-1], value + "x", value.upper(), value[::-1]])
    if isinstance(value, list):
        return value * 2
    return {**value, "x": value} if isinstance(value, dict) else [value]


def _places(tree):
    """Every holder and key in a tree."""
    to_see = [tree]
    while to_see:
        holder = to_see.pop()
        if isinstance(holder, dict | list):
            for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
                yield holder, key
                to_see.append(value)


def dump_tree(rng, tree):
    """JSON, now and then of a kind that only some readers take."""
    if rng.random() < 0.02:
        deep = rng.choice(["[", '{"a":']) * 100_000
        return deep.encode()
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 2]))
    if rng.random() < 0.05:
        text = text.replace("{", '{"format": 2, ', 1)  # a key twice
    return (text + rng.choice(["\n", ""])).encode(errors="surrogatepass")
