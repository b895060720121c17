"""The worlds of other tests, for what taking in adds to what they promise."""

from app.test_vector_sharing import ann, team
from interfaces.test_mcp_http import token_file
from interfaces.test_mcp_paths import outside
from interfaces.test_mcp_tools import agent, log

__all__ = ["agent", "ann", "log", "outside", "team", "token_file"]
