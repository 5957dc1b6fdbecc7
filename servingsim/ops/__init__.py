"""Operations of a forward pass: one kernel each, or several together under a folder of their family."""
