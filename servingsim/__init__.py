"""The simulator core: kernel shapes to times, composed into operations, sections, models and iterations."""

__version__ = "0.1.0"
