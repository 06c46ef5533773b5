"""Earlier releases, and what they reveal together."""

from shoal.ledger.conflicts import judge_entries
from shoal.ledger.entries import LedgerEntry
from shoal.ledger.file import read_ledger, record_shown, recording, unfinished

__all__ = ["LedgerEntry", "judge_entries", "read_ledger", "record_shown", "recording", "unfinished"]
