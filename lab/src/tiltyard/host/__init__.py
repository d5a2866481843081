"""The machine we stand on: what it is, what it can do, and what Tiltyard has changed on it."""
