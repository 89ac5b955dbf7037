"""From an upload to an accepted kernel: intake, scheduling, results, publishing, and the pure layers beneath."""
