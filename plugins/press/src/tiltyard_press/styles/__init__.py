"""House styles: what is told beside the style of the core, and in which order."""
