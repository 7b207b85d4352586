"""Where untrusted code runs. This side is trusted: it starts, feeds, bounds and ends the worker."""
