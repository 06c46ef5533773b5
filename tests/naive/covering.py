"""Which coarse record each row lies in, by trying all: ranges are pairs, lists are sets, of ranks."""


def naive_boxes(rows, boxes):
    """For each row (time, ranks) the only box (time, conditions) it lies in, -1 for none, -2 for several."""
    found = []
    for time, ranks in rows:
        inside = [
            b
            for b, (when, conditions) in enumerate(boxes)
            if when == time
            and all(
                rank in condition if isinstance(condition, set) else condition[0] <= rank <= condition[1]
                for rank, condition in zip(ranks, conditions, strict=True)
            )
        ]
        found.append(-1 if not inside else inside[0] if len(inside) == 1 else -2)
    return found
