"""Block devices: what they are, who uses them, what is on them."""
