"""Two ways to open a door, compared on matched starts, with an interval and a p-value."""

import kodex
from kodex.evaluation import compare_episodes, evaluate
from kodex.experts import expert

STARTS = 20  # hundreds are needed to tell small differences apart

task = kodex.task("door")
demonstrations = kodex.collect(task, episodes=20, seed=0)
starts = task.starts("in", count=STARTS, seed=1)
scores = {}
for recipe in ("default", "set3"):
    policy = kodex.fit(demonstrations[:16], demonstrations[16:], recipe=recipe)
    scores[recipe] = evaluate(task, policy, starts).score
    print(f"{recipe}: {scores[recipe]}")
scores["the expert"] = evaluate(task, expert("door"), starts).score
print(f"the expert: {scores['the expert']}")

for name in ("set3", "the expert"):
    found = compare_episodes(scores[name].episodes, scores["default"].episodes)
    print(
        f"{name} minus default: {found.difference:+.2f} [{found.low:+.2f}, {found.high:+.2f}], "
        f"p = {found.p_value:.2f} (Tango's interval, McNemar's exact test)"
    )
assert all(score.instances == STARTS for score in scores.values())
