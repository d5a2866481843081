"""How often each way to compare is wrong, in simulation: ours beside those of others."""
