"""What knows nothing of loops: files, text, times, amounts, records, options, processes, git."""
