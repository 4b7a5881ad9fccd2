"""From the table to slots × nodes."""
