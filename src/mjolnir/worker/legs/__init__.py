"""The legs that a worker can run: the kernel under test, or a trusted reference."""


class NoDecodeError(Exception):
    """The file has no callable `decode`."""
