"""What a kernel package is: names, descriptions, problems, archives and their limits. Pure: no Django, no git."""
