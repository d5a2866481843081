"""How long the analysis of large studies takes, and how much memory."""
