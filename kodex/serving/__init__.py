"""A policy behind a local socket, for a robot computer whose control loop is another process.

`kodex.serving.server` answers, `kodex.serving.client` asks and needs NumPy alone, and
`kodex.serving.protocol` says what is on the wire.
"""
