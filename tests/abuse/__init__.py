"""Groups of `make soak` that count their own tries: what is tried, how often, and what was found."""
