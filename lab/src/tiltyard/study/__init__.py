"""The question: what a person wrote, checked and lifted to what it means."""
