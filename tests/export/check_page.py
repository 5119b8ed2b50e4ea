"""Twenty episodes of every task of a page, in a real browser: too long for the test-suite.

    python -m tests.export.check_page SITE [PICTURES]

Fails if the console complained, if anything was fetched from elsewhere, if buttons or sliders do
not do what they say, if a phone must scroll sideways, or if the success rate lies outside the
interval of Python's.
"""

import sys
import time
from pathlib import Path

from kodex.evaluation import wilson_interval
from tests.browser import new_page, served

EPISODES = 20


def main(site, pictures=None):
    with served(site) as address, new_page() as tab:
        began, computed = time.perf_counter(), tab.processor_seconds()
        tab.open(address)
        tab.wait_for("window.kodex?.simulation")
        seconds, computed = time.perf_counter() - began, tab.processor_seconds() - computed
        print(f"ready after {seconds:.1f} s, for which the browser computed {computed:.1f} s")
        for task in tab.run("kodex.tasks.map((task) => task.name)"):
            check(tab, task, pictures)
        check_controls(tab)
        check_phone(tab, address, pictures)
        assert tab.complaints == [], tab.complaints
        foreign = [each for each in tab.requests if not each.startswith((address, "data:"))]
        assert foreign == [], foreign


def check(tab, task, pictures):
    tab.run(f"kodex.open('{task}')")
    ended = tab.run(f"kodex.measure(kodex.simulation.info.starts.in.slice(0, {EPISODES}))")
    succeeded = sum(each["succeeded"] for each in ended)
    python = tab.run("kodex.simulation.info.python")
    low, high = wilson_interval(succeeded, EPISODES)
    print(
        f"{task}: {succeeded} of {EPISODES} succeeded [{low:.2f}, {high:.2f}]; "
        f"in Python {python['succeeded']} of {python['episodes']}"
    )
    assert low <= python["high"] and python["low"] <= high, "the two intervals do not meet"
    if pictures is not None:
        time.sleep(2)
        tab.picture(Path(pictures) / f"{task}.png")


def check_controls(tab):
    before = tab.run("kodex.simulation.start")
    tab.run("document.getElementById('outside').click()")
    after = tab.run("kodex.simulation.start")
    assert after != before and after in tab.run("kodex.simulation.info.starts.out")
    low, high = tab.run("kodex.simulation.info.ranges[0]")
    wanted = 0.5 * (low + high)
    slider = "document.querySelector('#sliders input')"
    tab.run(f"{slider}.value = {wanted}; {slider}.dispatchEvent(new Event('input'))")
    assert abs(tab.run("kodex.simulation.start[0]") - wanted) < 1e-9
    print("a button and a slider change the start")
    tab.run("document.getElementById('pause').click()")
    start, seen = tab.run("kodex.simulation.start"), looks(tab)
    mouse(tab, (300, 300), (420, 340))
    assert tab.run("kodex.simulation.start") == start and looks(tab) != seen
    mouse(tab, (300, 300))
    assert tab.run("kodex.simulation.start") != start
    tab.run("document.getElementById('pause').click()")
    print("the mouse turns the view by a drag, and begins another start by a click")


def looks(tab):
    time.sleep(1)
    return tab.run("document.getElementById('scene').toDataURL()")


def mouse(tab, *places):
    """Press at the first place, move through the others, and release at the last."""
    kinds = ["mousePressed", *["mouseMoved"] * (len(places) - 1), "mouseReleased"]
    for kind, (x, y) in zip(kinds, [*places, places[-1]], strict=True):
        held = {"button": "left", "buttons": 1, "clickCount": 1}
        tab.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **held)


def check_phone(tab, address, pictures):
    tab.open(address, width=360, height=740, mobile=True)
    tab.wait_for("window.kodex?.simulation")
    assert tab.run("document.documentElement.scrollWidth") <= 360
    if pictures is not None:
        time.sleep(2)
        tab.picture(Path(pictures) / "phone.png")
    print("a phone's width is enough")


if __name__ == "__main__":
    main(*sys.argv[1:])
