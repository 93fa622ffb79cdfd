"""Text analysis shared by storing and asking: one tokenizer, so that a text always finds itself."""
