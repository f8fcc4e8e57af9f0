"""varnish: a pool of threads, locks made and destroyed for each object."""

from suite.case import case
from suite.stage import Stage

VCL = """
vcl 4.1;
backend default none;
sub vcl_recv { return (synth(200, "OK")); }
sub vcl_synth {
  set resp.http.Content-Type = "text/plain";
  synthetic("this is " + req.url + " of many");
  return (deliver);
}
"""
# Prints how many answers were right, from four threads.
CLIENT = """
import sys, urllib.request
from concurrent.futures import ThreadPoolExecutor
base, requests = sys.argv[1], int(sys.argv[2])
def get(n):
    with urllib.request.urlopen(f"{base}/{n}") as answer:
        return answer.read() == b"this is /%d of many" % n
with ThreadPoolExecutor(4) as pool:
    print(sum(pool.map(get, range(requests))), "right answers")
"""


@case("varnish", unpacked=["varnish"], acquisitions=0, mutexes=1300)
def varnish(stage: Stage) -> None:
    """varnishd answers 400 requests, each over a new connection"""
    port = stage.port()
    stage.write("default.vcl", VCL)
    with stage.server(
        "varnishd", "-F", "-j", "none", "-n", stage.tmp / "work", "-a", f"127.0.0.1:{port}", "-f",
        stage.tmp / "default.vcl", "-s", "default,32m", "-p", "thread_pool_min=10", ready=f"tcp:{port}",
    ):  # fmt: skip
        stage.same(stage.plain("python3", "-c", CLIENT, f"http://127.0.0.1:{port}", "400").stdout)
