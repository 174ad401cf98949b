"""`python -m mltune` is the command `mltune`."""

import sys

from mltune.cli import main

sys.exit(main())
