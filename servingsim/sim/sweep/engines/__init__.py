"""Where points run, a file each: `ENGINE` gives outcomes as they come, in any order."""
