"""What a user would pick instead, from its own package, on the same demonstrations and starts."""
