"""`dev.py bench`: what things cost here, as ratios and medians of one run, because machines are noisy."""
