"""From characters to a tree: glyphs, tokens, words, names, units, statements, the grammar, and trees as text again."""
