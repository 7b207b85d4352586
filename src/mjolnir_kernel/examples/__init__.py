"""Kernels that `mjolnir demo` commits; read as text, never imported by mjolnir."""
