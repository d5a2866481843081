"""Every sentence that a report prints: when it applies, its words, and the numbers in it."""
