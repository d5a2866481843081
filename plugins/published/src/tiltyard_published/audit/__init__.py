"""What a printed study claims, held against its own numbers."""
