"""MuJoCo Studio, where it is installed: the one place that knows what of it is used."""

from kodex.errors import MissingFeatureError

try:
    from mujoco.studio import app as studio_app
    from mujoco.studio import (
        launch_passive,
        messages,
        plugin,
        sim,
        ux,
        viewer_handle,
        viewer_protocol,
        web_viewer,
    )
    from mujoco.studio.dear_imgui import dear_imgui as imgui
    from mujoco.studio.implot import implot
    from mujoco.studio.web import web_server
except ImportError as error:
    raise MissingFeatureError(
        "kodex play needs MuJoCo Studio, which comes with mujoco 4: pip install 'mujoco>=4.0'"
    ) from error

__all__ = [
    "imgui",
    "implot",
    "launch_passive",
    "messages",
    "plugin",
    "sim",
    "studio_app",
    "ux",
    "viewer_handle",
    "viewer_protocol",
    "web_server",
    "web_viewer",
]
