"""The reading side: the mirror of the store, ranks, index, pages and read API."""
