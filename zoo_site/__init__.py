"""The site's assembly: settings, routing, the supervisor of its processes."""
