"""Graph networks over the sentences of a query: one reorders them, one says whether any is evidence. Both need torch."""
