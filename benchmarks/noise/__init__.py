"""How well what others do is seen, kept off and taken off."""
