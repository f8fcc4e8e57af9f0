"""Keep a Slurm cluster of four workers for `lockswap compare --scheduler ADDRESS` until Enter is pressed."""

from dask_jobqueue import SLURMCluster

cluster = SLURMCluster(
    queue="normal",
    cores=1,  # tasks of a worker at a time; the job has the node to itself
    processes=1,
    memory="8GB",
    walltime="04:00:00",  # enough for the longest workload: a job that reaches this is a lost worker
    job_extra_directives=["--exclusive", "--nodes=1"],  # other jobs on the node would be measured, too
)
cluster.scale(jobs=4)
print(cluster.scheduler_address)
input()
