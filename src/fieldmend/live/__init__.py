"""A network as it runs: readings come in, clean readings and alerts go out."""
