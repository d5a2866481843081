"""Network: the paths, one file per peer, one file per kind of work."""
