"""``python -m tuning``: see ``command``."""

from tuning.command import main

if __name__ == "__main__":
    main()
