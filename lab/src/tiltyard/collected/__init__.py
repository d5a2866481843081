"""Results that were not run here: imported from the files of other tools, or printed in a study."""
