"""`python -m kodex.cli` is `kodex`."""

from kodex.cli import main

raise SystemExit(main())
