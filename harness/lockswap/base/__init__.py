"""What everything else stands on: errors, paths, words for figures, the locks that exist and the labels of choices."""
