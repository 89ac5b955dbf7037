"""How good the clock is: trials of the real engine with known answers, and other tools beside it."""
