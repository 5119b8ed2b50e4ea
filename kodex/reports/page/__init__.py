"""The page of a report: sections, each a sentence, pictures and perhaps a table, in one file."""
