"""Answers as people write them: right ones in many spellings, wrong ones made by rule, and a value for each."""
