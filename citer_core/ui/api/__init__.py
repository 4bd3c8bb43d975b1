"""The documented endpoints, for programs and MCP, and the tab that shows them."""
