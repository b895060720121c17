"""What was useful: events, confidence, adaptive parameters. Pure: values in, values out."""
