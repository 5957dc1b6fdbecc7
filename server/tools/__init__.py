"""The tools: one file each defines `TOOL`; the folder is the registry."""
