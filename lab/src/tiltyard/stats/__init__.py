"""Statistics: arrays in, frozen dataclasses out; every function cites its source."""
