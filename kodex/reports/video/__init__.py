"""Videos of recorded episodes."""

from kodex.reports.video.encode import find_ffmpeg, write_video
from kodex.reports.video.film import Film

__all__ = ["Film", "find_ffmpeg", "write_video"]
