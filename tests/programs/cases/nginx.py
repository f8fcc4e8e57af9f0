"""nginx, which reads its files in threads."""

from suite.case import case
from suite.stage import Stage

REQUESTS = 400

# Prints how often each different body came, from four threads.
CLIENT = """
import hashlib, sys, urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
base, pages, requests = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def get(n):
    with urllib.request.urlopen(f"{base}/page{n % pages}.txt") as answer:
        body = answer.read()
    return f"{n % pages} {len(body)} {hashlib.sha256(body).hexdigest()}"
with ThreadPoolExecutor(4) as pool:
    for line, count in sorted(Counter(pool.map(get, range(requests))).items()):
        print(count, line)
"""


def pages(stage: Stage, folder: str, count: int) -> None:
    for number in range(count):
        stage.write(f"{folder}/page{number}.txt", f"page {number}, again and again\n" * (2000 + number))


def fetch(stage: Stage, port: int, count: int) -> None:
    found = stage.plain("python3", "-c", CLIENT, f"http://127.0.0.1:{port}", str(count), str(REQUESTS)).stdout
    stage.same(found)
    stage.need(found.count("\n") == count, "a page came in more than one form")


@case("nginx-aio", unpacked=["nginx-light"], acquisitions=0, mutexes=300)
def nginx(stage: Stage) -> None:
    """nginx reads files in a pool of four threads"""
    pages(stage, "www", 8)
    port = stage.port()
    config = stage.write("nginx.conf", f"""
        daemon off;
        worker_processes 1;
        pid {stage.tmp}/pid;
        error_log stderr;
        thread_pool readers threads=4 max_queue=1024;
        events {{ worker_connections 64; }}
        http {{
          access_log off;
          client_body_temp_path {stage.tmp}/body;
          proxy_temp_path {stage.tmp}/proxy;
          fastcgi_temp_path {stage.tmp}/fastcgi;
          uwsgi_temp_path {stage.tmp}/uwsgi;
          scgi_temp_path {stage.tmp}/scgi;
          server {{
            listen 127.0.0.1:{port};
            root {stage.tmp}/www;
            aio threads=readers;
            sendfile off;
            output_buffers 2 16k;
          }}
        }}
    """)  # fmt: skip
    user = ["-g", "user root;"] if stage.is_root else []
    with stage.server("nginx", *user, "-p", stage.tmp, "-e", "stderr", "-c", config, ready=f"tcp:{port}"):
        fetch(stage, port, 8)
