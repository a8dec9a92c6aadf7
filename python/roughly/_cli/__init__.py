"""The command line. Results are written to standard output; sizes, progress and errors to standard error.

The exit status is 0, 1 after an error, or 2 if the arguments are wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .._roughly import __version__  # type: ignore[attr-defined, unused-ignore]
from . import build, describe, merge, rdb, restore, series
from .errors import Failure
from .streams import log


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="roughly", description="Builds, describes, merges, loads and draws sketches for Redis and Valkey."
    )
    parser.add_argument("--version", action="version", version=f"roughly {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (build, describe, merge, restore, rdb, series):
        command.register(commands)
    parsed = parser.parse_args(arguments)
    try:
        parsed.run(parsed)
        # Now, because an error at the exit of the interpreter is not caught here.
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except BrokenPipeError:
        # Of `roughly rdb FILE | head`. Otherwise, the interpreter would write the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130
    except MemoryError as error:
        text = str(error) or "not enough memory"
    except OSError as error:
        text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except (Failure, ValueError, TypeError, OverflowError) as error:
        text = str(error)
    log(f"roughly: {text}")
    return 1
