"""`python -m kodex` is the command line."""

from kodex.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
