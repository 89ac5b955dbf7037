"""Who runs what: runners, their leases, the claim, and the queues that drive the local ones."""
