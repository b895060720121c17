"""The policies of enterprises, enforced, and the texts that they let go."""
