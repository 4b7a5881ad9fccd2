"""Hide readings of one's own data and compare the methods on them."""
