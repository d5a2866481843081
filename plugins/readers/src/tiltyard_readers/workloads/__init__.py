"""Programs that are ready to be measured, whose output these readers read: one file a program."""
