"""The page where curators decide: views, templates and what they need."""
