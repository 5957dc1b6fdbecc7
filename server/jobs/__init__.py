"""Work that outlives a call: detached processes with a folder each, read by every server of the workspace."""
