"""How findings are shown: the page, its plots, tables in the terminal, CSV and JSON."""
