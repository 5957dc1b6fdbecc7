"""Engineering skills, one folder each, with the checks that the server runs itself. None is here yet."""
