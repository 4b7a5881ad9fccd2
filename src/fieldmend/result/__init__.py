"""What a recovery gives back: arrays with labels, frames, lists, a summary."""
