"""One file a table, each defining `TABLE`."""
