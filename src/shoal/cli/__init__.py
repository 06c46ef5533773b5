"""The command line: parse, call process, show."""
