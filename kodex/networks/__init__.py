"""Networks written once: the same code acts on NumPy arrays and is trained on torch tensors.

A network is a formula over parameters with names. Handed arrays it acts, and needs no torch;
handed tensors it can be differentiated. So what acts is what was trained, and only training itself
(`kodex.networks.training`) imports torch.
"""
