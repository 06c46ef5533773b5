"""Random and differencing questions to closed services: what all answers select together never isolates fewer than k.

Which rows a question selects is found by hand from what is published. The finest sets that "and", "or" and "not" can
make of all answers of a service are the classes of rows that no answer tells apart; each must have k subjects, so
every difference of two answers, and every longer combination, is about nobody or about at least k.
"""

import os

import numpy as np

from closed.places import INSTANTS, candidate_of, closed, random_question, raw_panel, recipient, selected

EACH = 1000
"""Questions to one service: its log is read whole for every budget."""


def differencing(rng, values):
    """Two questions, of which the second leaves out who is just at a threshold."""
    from shoal.closed import Count, Mean, Range, Window

    row, start = rng.integers(len(values)), int(rng.integers(INSTANTS))
    end = int(rng.integers(start, INSTANTS))
    # Not of means: by hand they may differ in the last bit, and here that decides.
    of = str(rng.choice(["least", "greatest"]))
    at = float({"least": np.min, "greatest": np.max}[of](values[row, start : end + 1]))
    under = float(np.nextafter(at, -np.inf))

    def condition(**ends):
        return (Range(at=start, **ends) if start == end else Window(start=start, end=end, of=of, **ends),)

    made = Count if rng.random() < 0.7 else Mean
    if rng.random() < 0.5:
        return made(where=condition(high=at)), made(where=condition(high=under))
    return made(where=condition(low=at)), made(where=condition(low=float(np.nextafter(at, np.inf))))


def ask_one_service(folder, number, n_questions, outcome):
    from shoal.closed import Count

    rng = np.random.default_rng(number)
    k, n = int(rng.integers(3, 8)), int(rng.integers(24, 80))
    codes = np.arange(n) if number % 3 else np.sort(rng.integers(0, n - n // 6, n))
    panel = raw_panel(n, subjects=codes.tolist(), seed=number)
    codes = panel.subject_codes
    candidate = candidate_of(panel, k)
    published = candidate.values
    service = closed(folder, candidate, minimum_group=k, budget=10**9, budget_in_all=10**9)
    token, chosen = recipient(service), []
    while len(chosen) < n_questions:
        values = published if rng.random() < 0.5 else panel.values
        chosen += differencing(rng, values) if rng.random() < 0.5 else [random_question(rng, values)]
    seen = []
    for question in chosen[:n_questions]:
        answer = service.ask(token, question)
        rows = selected(published, question)
        if answer.outcome == "answered":
            seen.append(rows)
            if isinstance(question, Count) and answer.value != rows.sum():
                outcome.find(f"service {number}: a count is {answer.value}, by hand {rows.sum()}")
            if (size := len(set(codes[rows].tolist()))) < k:
                outcome.find(f"service {number}: an answer about {size} subjects, k is {k}")
        elif rows.any():
            outcome.find(f"service {number}: refused, and {rows.sum()} rows are selected")
    outcome.tries["questions"] += n_questions
    outcome.tries["answered"] += len(seen)
    if seen:
        _, classes = np.unique(np.array(seen).T, axis=0, return_inverse=True)
        least = min(len(set(codes[classes.reshape(-1) == one].tolist())) for one in range(classes.max() + 1))
        outcome.tries["sets that all answers tell apart"] += int(classes.max()) + 1
        if least < k:
            outcome.find(f"service {number}: all answers together isolate {least} subjects, k is {k}")


def run(numbers, size, folder, outcome):
    """So many questions as there are numbers."""
    os.fsync = lambda descriptor: None
    for at in range(0, len(numbers), EACH):
        asked = numbers[at : at + EACH]
        ask_one_service(folder / f"{asked[0]}", asked[0], len(asked), outcome)
