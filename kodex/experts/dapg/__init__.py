"""DAPG: natural policy gradients with demonstrations, which trained the shipped experts.

`settings` needs NumPy only; everything else needs torch. A whole training run,
with its checkpoints and its log, is `kodex.experts.dapg.run.train_expert`.
"""
