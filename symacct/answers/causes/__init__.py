"""What went wrong: searches for the mistake that makes the truth the answer, each in one file."""
