"""How often learned policies succeed in Meta-World: `make metaworld`.

The default recipe, a plain MLP clone and nearest neighbours learn from the same demonstrations of
Meta-World's scripted experts, and are evaluated from the same unseen starts. Nothing is set per
task, and no validation set is taken.
"""
