"""``python -m reame.cli``."""

from reame.cli import main

if __name__ == "__main__":
    main()
