"""The code repository that one works in: its folder, manifests and instructions."""
