"""A split for people: on a terminal, as Markdown, and as one page of HTML that needs nothing beside itself."""
