"""`python -m penstock.cli`, for machines where the script folder is not on PATH."""

from penstock.cli.main import main

if __name__ == "__main__":
    main()
