"""The loop: a campaign of tasks that agents take and hand in, and whose reports the server judges itself."""
