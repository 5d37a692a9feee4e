"""The subcommands of `context1`, one module each."""
