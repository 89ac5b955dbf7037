"""The verbs of the command line that measure more than one kernel, or one at more than its own sizes."""
