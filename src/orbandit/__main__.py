"""`python -m orbandit` is the command `orbandit`."""

import sys

from orbandit.cli import main

sys.exit(main())
