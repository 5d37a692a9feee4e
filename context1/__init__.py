"""Context-1 platform: self-editing search agents, from a corpus to a trained, measured, served model."""

__version__ = "0.1.0"
