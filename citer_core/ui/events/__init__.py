"""What a page may ask (`asking`): a module for each subject, each with the names that it answers to."""
