"""What a sound checkpoint looks like, a rule a file. A rule yields what is wrong; it repairs nothing."""
