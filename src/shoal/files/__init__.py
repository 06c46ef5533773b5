"""What must survive a crash: whole folders, locks, durable appends, scratch folders, one SQLite file."""
