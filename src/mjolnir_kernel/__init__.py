"""The kernel files an agent edits; never imported by mjolnir itself, only read as text."""
