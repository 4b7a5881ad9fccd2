"""Every row in one table, judged, counted, with its labels and places."""
