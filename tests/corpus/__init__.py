"""The corpus of cheats: what each file must be answered, what the harness answers, what a naive checker lets through."""
