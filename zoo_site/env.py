"""Read the environment: the only place in the site that does. Wrong values are named, never guessed."""
