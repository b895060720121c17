"""Where a text still is, and how it goes: `admin forget`. Begin with `jobs`."""
