"""Measurements that anyone can repeat: each prints the machine, the model, the commit and a ratio."""
