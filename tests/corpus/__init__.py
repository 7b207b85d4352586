"""The corpus of cheats: the right answer to each file, the harness's, and a naive checker's."""
