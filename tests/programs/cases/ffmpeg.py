"""ffmpeg: x265 with its pool and its frame threads, recursive mutexes; x264."""

import hashlib

from suite.case import case
from suite.stage import Stage

FRAMES = 50


@case("ffmpeg-x265", packages=["ffmpeg"], acquisitions=30)
def x265(stage: Stage) -> None:
    """Two seconds of a test picture encoded, and each frame decoded to what the encoder had"""
    # With frame threads x265 does not always make the same bytes, also without the library, when the machine is busy.
    # But it can write a checksum of every plane that it encoded, and the decoder says what it thinks of it.
    picture = f"testsrc=size=320x240:rate=25:duration={FRAMES // 25}"
    stage.swapped(
        "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", picture,
        "-pix_fmt", "yuv420p", "-c:v", "libx265", "-preset", "fast",
        "-x265-params", "pools=4:frame-threads=3:log-level=error:hash=1", "-f", "hevc", "out.hevc",
    )  # fmt: skip
    said = stage.swapped(
        "ffmpeg", "-nostdin", "-v", "debug", "-threads", "4", "-err_detect", "crccheck+explode", "-i", "out.hevc",
        "-f", "null", "-",
    ).stderr  # fmt: skip
    stage.need("mismatching checksum" not in said, "a decoded frame is not what x265 encoded")
    # The first frame is looked at once more, when the file is opened.
    good = said.count(" - correct ")
    stage.need(good >= 3 * FRAMES, f"the checksums of {good} planes were right, not of {3 * FRAMES}")


@case("ffmpeg-x264", packages=["ffmpeg"], acquisitions=0, mutexes=3000)
def x264(stage: Stage) -> None:
    """Two seconds of a test picture by four threads of x264, which makes the same bytes each time"""
    stage.swapped(
        "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
        f"testsrc=size=320x240:rate=25:duration={FRAMES // 25}", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-threads",
        "4", "-preset", "fast", "-f", "h264", "out.h264",
    )  # fmt: skip
    stage.same(hashlib.sha256((stage.tmp / "out.h264").read_bytes()).hexdigest())
    frames = stage.swapped(
        "ffmpeg", "-nostdin", "-v", "error", "-threads", "4", "-i", "out.h264", "-f", "framemd5", "-"
    )
    stage.same(frames.stdout)
