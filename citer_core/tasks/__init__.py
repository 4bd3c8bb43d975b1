"""Tasks: prompts, answer checking and data sets of the two official formats, `math` and `mc`."""
