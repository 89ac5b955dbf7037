"""What a run's figures mean: verdicts, intervals, the accept rule, the records kept. Pure: no Django, no git."""
