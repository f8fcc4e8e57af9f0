"""chromium without a window: many processes, its own allocator, all its threads."""

from suite.case import case
from suite.stage import Stage

PAGE = """<!doctype html><title>x</title><p id=out></p><script>
const worker = new Worker(URL.createObjectURL(new Blob([`
  let s = 0; for (let i = 0; i < 1e6; i++) s = (s * 31 + i) % 1000003; postMessage(s)`])));
worker.onmessage = (m) => { document.getElementById('out').textContent = 'worker says ' + m.data; };
</script>"""


@case("chromium", packages=["chromium"], acquisitions=50)
def chromium(stage: Stage) -> None:
    """A page with a worker, loaded and printed"""
    page = stage.write("page.html", PAGE)
    shell = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    output = stage.swapped(
        *shell, f"--user-data-dir={stage.tmp}/profile", "--virtual-time-budget=5000", "--dump-dom", f"file://{page}"
    )
    stage.need("worker says" in output.stdout, "the page's worker said nothing")
    stage.same(output.stdout)
