"""Systems on another host: the half of the lab that prepares them runs there, as a deputy.

A deputy is this lab's own code, copied there for a run and started behind the command that reaches
the host (:attr:`tiltyard.host.place.Place.ssh`). It has a ledger of that host, opens systems as
they are opened here, and answers requests, one JSON object a line. It ends, and takes back what it
has changed, when its input does. Trials do not pass through it.
"""
