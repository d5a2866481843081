"""The fair order: which system meets which workload when, frozen before the first trial."""
