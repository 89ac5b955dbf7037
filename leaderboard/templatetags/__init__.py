"""Template tags of the pages: figures and drawings."""
