"""Start this there, and give me its pipes."""
