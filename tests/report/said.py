"""Which sentences the report says of each kind of release in `release_samples`."""

# Of a plain release in memory this is said; of the others some more, and some not.
SAID_OF_PLAIN = {
    "Check: published values",
    "Columns: columns",
    "Identifiers: random",
    "Method: groups",
    "Method: parameters",
    "Method: summary",
    "Published: nothing missing",
    "Published: period",
    "Published: series",
    "aggregates: crowd",
    "done: given",
    "done: method in words",
    "groups: series",
    "head: not dated",
    "head: period",
    "head: step",
    "head: subjects",
    "may not: insiders",
    "may not: nothing learned",
    "may not: one subject's reading",
    "may: crowd of subjects",
    "may: who is who",
    "no figure: not asked",
    "promise: statement",
    "proven: equal series",
    "reader may not: other releases",
    "reader may: figures",
    "tell: groups",
    "tell: private folder",
    "tell: verify",
    "who can check: anyone",
}


def _differs(*others, more=(), less=(), not_more=()):
    """What is said beyond what is said of a plain release, and what is not; as of others, and more or less."""
    return {*more}.union(*(o[0] for o in others)) - {*not_more}, {*less}.union(*(o[1] for o in others))


SUMMARY = _differs(more=["done: method"], less=["done: method in words"])
NO_CROWD = _differs(
    less=[
        *("may not: insiders", "may not: nothing learned", "may not: one subject's reading"),
        *("may: crowd of subjects", "may: who is who", "proven: equal series", "tell: groups"),
    ]
)
NO_CURVES = _differs(more=["aggregates: nothing of the originals"], less=["aggregates: crowd", "reader may: figures"])
SMALL = _differs(NO_CURVES, more=["figures: left out", "no figure: left out"], less=["no figure: not asked"])
OTHER_NAMES = _differs(less=["Identifiers: random", "may: who is who", "proven: equal series"])
KEYED = _differs(OTHER_NAMES, more=["Identifiers: joined by key"], less=["reader may not: other releases"])
PROFILES = _differs(
    OTHER_NAMES,
    more=["Identifiers: profiles", "Published: profiles", "groups: profiles"],
    less=[
        *("Published: series", "groups: series", "may: crowd of subjects", "who can check: anyone"),
        *("tell: groups", "tell: private folder"),
    ],
)
AGGREGATES = _differs(
    *(PROFILES, SUMMARY),
    more=[
        *("Check: originals", "may not: differences", "may not: one in an aggregate", "may: aggregates"),
        *("may: profile", "may: share over the period", "promise: rows of groups", "proven: profiles"),
        *("who can check: counts of profiles", "who can check: publisher"),
    ],
)
ENVELOPES = _differs(
    *(NO_CROWD, SMALL, SUMMARY),
    more=[
        "groups: envelopes",
        "may not: common range",
        "may not: ends of a range",
        "may not: inside a range",
        "may: ranges",
    ],
    less=["groups: series"],
)
SENSITIVE = _differs(
    more=[
        *("may not: similar values", "may not: values ruled out", "may not: whose value", "may: sensitive values"),
        "proven: sensitive values",
    ]
)
ATTACKED = _differs(
    *(NO_CROWD, SUMMARY),
    more=[
        *("Check: attacks only", "may not: no promise", "may not: publisher's figures", "may: attacks"),
        *("who can check: attacks", "inferred: readings", "promise: nothing"),
    ],
    less=[
        *("Check: published values", "Method: groups", "who can check: anyone"),
        *("reader may not: other releases", "tell: verify", "promise: statement"),
    ],
)
BY_MECHANISM = _differs(
    *(NO_CROWD, NO_CURVES, PROFILES, SUMMARY),
    more=[
        *("Check: mechanism", "may not: noisy figures", "who can check: mechanism", "done: not told", "tell: noise"),
        *("no figure: noise", "no loss: noise", "proven: noise", "reader may not: further budgets"),
    ],
    less=[
        *("Check: published values", "Published: nothing missing", "done: given", "no figure: not asked"),
        *("reader may not: other releases", "tell: verify"),
    ],
)
METERS = _differs(
    *(NO_CROWD, NO_CURVES, PROFILES, SUMMARY),
    more=[
        *("Check: meters", "may not: noisy figures", "may not: longer than a window", "who can check: meters"),
        *("done: meters", "tell: noise", "no figure: meters", "no loss: meters", "proven: noise at the meter"),
        "may: noise at the meter",
    ],
    less=[
        *("Check: published values", "Published: nothing missing", "done: given", "no figure: not asked"),
        *("reader may not: other releases", "tell: verify"),
    ],
)
EVENTS = _differs(
    *(NO_CROWD, SMALL, SENSITIVE, OTHER_NAMES, SUMMARY),
    more=["Identifiers: events", "Published: events", "groups: events", "head: events"],
    less=[
        *("Published: nothing missing", "Published: series", "groups: series", "done: given"),
        *("head: step", "head: subjects", "tell: private folder"),
    ],
)

THE_OTHERS = {
    "small": SMALL,
    "keyed": _differs(KEYED, more=["Identifiers: keyed", "reader may not: keyed releases together", "tell: joined"]),
    "insecure": _differs(
        OTHER_NAMES,
        more=["Identifiers: insecure", "reader may not: fixed seed", "tell: tests only"],
        less=["tell: private folder"],
    ),
    "copy": _differs(more=["Identifiers: recipient's own", "tell: recipient"], less=["Identifiers: random"]),
    "keyed copy": _differs(
        KEYED, more=["Identifiers: recipient's own", "reader may not: keyed releases together", "tell: recipient"]
    ),
    "accepted": _differs(more=["Side channels: accepted", "head: dated"], less=["head: not dated"]),
    "channels": _differs(more=["Published: channels"]),
    "gaps": _differs(more=["Published: missing", "Method: withheld"], less=["Published: nothing missing"]),
    "bound": _differs(more=["Method: lower bound"]),
    "filled": _differs(more=["Input: account", "read: rows", "tell: filled in"], less=["done: given"]),
    "zone": _differs(more=["clock: zone", "inferred: readings", "reader may not: more knowledge"]),
    "autumn": _differs(more=["clock: put back", "clock: zone"]),
    "several series": _differs(
        more=["who can check: crowd of series"], less=["who can check: anyone", "proven: equal series"]
    ),
    "crowd of series": _differs(
        more=["may: crowd of series", "who can check: crowd of series"], less=["proven: equal series"]
    ),
    "attributes": _differs(more=["done: categories"]),
    "profiles": _differs(
        PROFILES,
        more=["may: profile", "promise: rows of groups", "who can check: counts of profiles", "proven: profiles"],
    ),
    "scenarios": _differs(
        *(PROFILES, SMALL),
        more=[
            *("Columns: levels", "may: profile", "may: levels", "promise: rows of groups"),
            *("who can check: counts of profiles", "proven: profiles"),
        ],
    ),
    "trimmed": _differs(SUMMARY, more=["read: rows", "done: nothing"], less=["done: given"]),
    "labels of others": _differs(more=["Method: labels of others"]),
    "nlk": _differs(
        *(NO_CROWD, SUMMARY),
        more=[
            *("Method: alone", "figures: left out", "groups: instants"),
            *("may not: as measured", "may not: more known readings", "may not: series found", "may: known readings"),
        ],
        less=["groups: series"],
    ),
    "kp": _differs(ENVELOPES, more=["proven: ranges"]),
    "suppressed series": _differs(
        ENVELOPES,
        more=[
            *("Method: series suppressed", "reader may not: suppressed series", "tell: missing people"),
            "proven: ranges",
        ],
    ),
    "sensitive": _differs(*(ENVELOPES, SENSITIVE), more=["Method: perturbed", "reader may not: published attributes"]),
    "exchanged": _differs(*(ENVELOPES, SENSITIVE), more=["Method: exchanged", "reader may not: published attributes"]),
    "noise": ATTACKED,
    "fictives": _differs(
        ATTACKED,
        more=[
            *("Published: fictive series", "reader may not: true series"),
            *("head: fictive series", "tell: fictive series"),
        ],
        less=["Published: series", "head: subjects"],
    ),
    "aggregates": AGGREGATES,
    "aggregates withheld": _differs(
        AGGREGATES,
        more=[
            *("Method: means withheld", "Method: series withheld", "Published: missing"),
            *("reader may not: suppressed series", "tell: missing people"),
        ],
        less=["Published: nothing missing"],
    ),
    "aggregates at instants": _differs(AGGREGATES, more=["may: share at every instant"]),
    "private subjects": _differs(BY_MECHANISM, more=["may not: people in general", "may: noise for subjects"]),
    "private readings": _differs(BY_MECHANISM, more=["may not: habits", "may: noise for readings"]),
    "sums": _differs(
        BY_MECHANISM,
        more=[
            *("may not: people in general", "may: noise for subjects"),
            *("done: meters", "no figure: meters", "no loss: meters"),
        ],
        not_more=["done: not told", "no figure: noise", "no loss: noise"],
    ),
    "meters": METERS,
    "events": EVENTS,
    "suppressed events": _differs(
        EVENTS,
        more=[
            *("Method: moved", "Method: suppressed", "tell: missing events"),
            *("suppression: by value", "suppression: notable", "suppression: order", "suppression: share"),
        ],
    ),
    "coarser events": _differs(EVENTS, more=["Method: moved"], not_more=["proven: sensitive values"]),
    "sequence": _differs(
        KEYED,
        more=[
            *("Identifiers: keyed", "may not: everyone was there", "may not: outside the sequence", "may: sequence"),
            *("who can check: sequence", "tell: joined", "done: growing", "proven: sequence"),
        ],
        less=["done: given"],
    ),
    "nlk sequence": _differs(
        *(NO_CROWD, SUMMARY, KEYED),
        more=[
            *("Identifiers: keyed", "Method: bound", "groups: instants"),
            *("may not: absent", "may not: as measured", "may not: more known readings", "may not: series found"),
            *("may not: outside the sequence", "may: known readings", "may: known readings in a sequence"),
            *("who can check: sequence", "tell: joined", "done: growing"),
        ],
        less=["groups: series", "done: given"],
    ),
    "parts": NO_CURVES,
}
