"""The comparisons by which the defaults of elastic training are chosen: what `compare` runs."""
