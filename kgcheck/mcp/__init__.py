"""Tools, resources and prompts for language models, over a `kgcheck.Workspace`, by the Model Context Protocol."""
