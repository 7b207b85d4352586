"""Doubles: named stand-ins that ship with the tests alone, each found the way the real thing is found."""
