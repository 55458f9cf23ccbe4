"""The HTTP API and the page, over a `kgcheck.Workspace`; no logic of their own."""
