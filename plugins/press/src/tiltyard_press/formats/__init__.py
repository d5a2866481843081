"""Forms of a report that people print, project or work on."""
