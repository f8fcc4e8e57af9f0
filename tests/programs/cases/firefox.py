"""Firefox without a window: its content processes are made by a fork server, with a raw clone."""

import hashlib

from suite.case import case
from suite.stage import Stage

# All of it is drawn before the page counts as loaded, which is when the picture is taken.
PAGE = """<!doctype html><meta charset=utf-8><title>x</title>
<style>
  body { margin: 0 } canvas, iframe { width: 300px; height: 200px; border: 0; float: left }
  p { position: absolute; top: 80px; left: 20px; font: 40px serif; background: linear-gradient(red, blue) }
</style>
<canvas id=c width=300 height=200></canvas>
<iframe src=frame.html></iframe><iframe src=frame.html></iframe><iframe src=frame.html></iframe>
<p>a picture of text</p>
<script>
  const picture = new ImageData(300, 200);
  for (let i = 0, s = 1; i < picture.data.length; i++) {
    s = (s * 4391 + 7) % 1000003;
    picture.data[i] = i % 4 == 3 ? 255 : s % 256;
  }
  document.getElementById('c').getContext('2d').putImageData(picture, 0, 0);
</script>"""

FRAME = """<!doctype html><meta charset=utf-8>
<style>
  body { margin: 0; background: repeating-conic-gradient(#fc0 0 9deg, #06c 0 18deg); transform: rotate(7deg) }
  p { font: 60px monospace }
</style>
<p>frame</p>"""

# What would go to the network, or run now and then, is off.
SETTINGS = {
    "app.normandy.enabled": "false",
    "app.update.enabled": "false",
    "browser.safebrowsing.update.enabled": "false",
    "datareporting.policy.dataSubmissionEnabled": "false",
    "dom.ipc.forkserver.enable": "true",  # as Debian's is built, but what the case is for
    "extensions.update.enabled": "false",
    "media.gmp-manager.updateEnabled": "false",
    "network.captive-portal-service.enabled": "false",
    "network.connectivity-service.enabled": "false",
    "services.settings.server": '""',
    "toolkit.telemetry.enabled": "false",
}


@case("firefox", packages=["firefox-esr"], acquisitions=30, mutexes=200, limit=600)
def firefox(stage: Stage) -> None:
    """A page with frames, loaded in a new profile; the picture of it"""
    page = stage.write("page.html", PAGE)
    stage.write("frame.html", FRAME)
    stage.write("profile/user.js", "".join(f'user_pref("{name}", {value});\n' for name, value in SETTINGS.items()))
    stage.swapped(
        "firefox-esr", "--headless", "--no-remote", "--profile", stage.tmp / "profile", "--window-size=600,400",
        "--screenshot", stage.tmp / "picture.png", f"file://{page}",
    )  # fmt: skip
    picture = (stage.tmp / "picture.png").read_bytes()
    stage.need(picture.startswith(b"\x89PNG") and len(picture) > 100_000, "firefox took no picture of the page")
    stage.same(hashlib.sha256(picture).hexdigest())
