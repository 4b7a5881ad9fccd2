"""``python -m fieldmend``: the command."""

from fieldmend.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
