"""Jobs for agent hosts: installing hooks, and what those ask and tell."""
