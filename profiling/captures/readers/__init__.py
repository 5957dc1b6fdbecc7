"""One file a format; each registers by defining `READER`."""
