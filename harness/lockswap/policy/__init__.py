"""Policies: rules that swap some locks of a program."""
