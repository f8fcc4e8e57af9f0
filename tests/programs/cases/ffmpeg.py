"""ffmpeg: x265 with its pool and its frame threads, recursive mutexes."""

from suite.case import case
from suite.stage import Stage


@case("ffmpeg-x265", packages=["ffmpeg"], acquisitions=30)
def x265(stage: Stage) -> None:
    """Two seconds of a test picture encoded and decoded, frame by frame the same"""
    stage.swapped(
        "ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=320x240:rate=25:duration=2",
        "-c:v", "libx265", "-preset", "fast", "-x265-params", "pools=4:frame-threads=3:log-level=error",
        "-bitexact", "-f", "hevc", "out.hevc",
    )  # fmt: skip
    decode = [
        "ffmpeg",
        "-nostdin",
        "-v",
        "error",
        "-threads",
        "4",
        "-i",
        "out.hevc",
        "-bitexact",
        "-f",
        "framemd5",
        "-",
    ]
    frames = stage.swapped(*decode).stdout
    stage.need(frames.count("\n0,") == 50, "ffmpeg did not give back 50 frames")
    stage.same(frames)
