"""Work that is done on several machines, by way of Dask. Nothing else imports Dask."""
