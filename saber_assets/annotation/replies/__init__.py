"""Parsers of replies: pure functions from a reply's text to a value, or a ReplyError."""
