"""node: OpenSSL's locks by the thousand, and libuv's own, which are bound to the oldest symbol version."""

from suite.case import WAITS, case
from suite.stage import Stage

PACKAGES = ("nodejs",)

CRYPTO = """
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const crypto = require('crypto');
if (isMainThread) {
  const found = []; let left = 4;
  for (let n = 0; n < 4; n++) {
    const worker = new Worker(__filename, { workerData: n });
    worker.on('message', (m) => { found[n] = m; });
    worker.on('exit', () => { if (--left === 0) console.log(found.join('\\n')); });
  }
} else {
  let left = 8; const out = [];
  for (let i = 0; i < 8; i++) {
    crypto.pbkdf2('s' + i, 'salt' + workerData, 2000, 16, 'sha256', (e, key) => {
      out[i] = key.toString('hex');
      if (--left === 0) {
        for (let n = 0; n < 300; n++) out.push(crypto.createHash('sha256').update('x' + n).digest('hex').slice(0, 4));
        parentPort.postMessage(out.join(' '));
      }
    });
  }
}
"""

FILES = """
const fs = require('fs/promises'), crypto = require('crypto');
(async () => {
  const names = Array.from({ length: 400 }, (_, n) => `f${n}`);
  await Promise.all(names.map((name, n) => fs.writeFile(name, 'x'.repeat(n * 100))));
  const sums = await Promise.all(names.map(async (name) =>
    crypto.createHash('md5').update(await fs.readFile(name)).digest('hex')));
  await Promise.all(names.map((name) => fs.unlink(name)));
  console.log(crypto.createHash('md5').update(sums.join()).digest('hex'), (await fs.readdir('.')).length);
})();
"""


@case("node-exit", packages=PACKAGES, acquisitions=1000, waits=WAITS)
def leave(stage: Stage) -> None:
    """Starts and exits at once, ten times"""
    for _ in range(10):
        stage.swapped("node", "-e", "process.exit()")


@case("node-crypto", packages=PACKAGES, acquisitions=10_000)
def crypto(stage: Stage) -> None:
    """Four workers with digests, and keys derived in the pool of threads"""
    stage.same(stage.swapped("node", stage.write("crypto.js", CRYPTO)).stdout)


@case("node-fs", packages=PACKAGES, acquisitions=1000)
def files(stage: Stage) -> None:
    """400 files written, read and removed through the pool of threads"""
    stage.same(stage.swapped("node", stage.write("files.js", FILES)).stdout)
