"""mjolnir: an autonomous agent makes one kernel faster, and a person can believe the result."""

__version__ = "0.1.0"
