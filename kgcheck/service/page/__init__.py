"""The page where curators decide, a module a concern."""

from kgcheck.service.page import findings, nodes, patches, questions, runs

ROUTERS = (runs.router, findings.router, nodes.router, patches.router, questions.router)
