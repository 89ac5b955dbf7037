"""The two signals of the tree. Both are hints: the minute schedule finds what a lost one would have told."""

from django.dispatch import Signal

# Sent after the commit that queued a run. Arguments: run_id (UUID), arch (str), kind (str).
run_queued = Signal()

# Sent after main or the ledger moved. No arguments: the receiver asks the store.
store_advanced = Signal()
