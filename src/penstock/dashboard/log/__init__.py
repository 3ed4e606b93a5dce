"""The event log as the pages see it: live, projected, and of a long log first its newest part."""
