"""The version of the harness."""

VERSION = "0.2.0"
