"""The product cone: its algebra and its scaling."""
