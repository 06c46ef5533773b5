"""`python -m shoal`: for a launcher, such as spark-submit, that starts Python and not a command."""

from shoal.cli.app import main

if __name__ == "__main__":
    main()
