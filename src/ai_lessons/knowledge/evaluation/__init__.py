"""What a text is worth elsewhere: its ties to one place, its risks, its generic form."""
