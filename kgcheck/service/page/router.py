"""All routes of the page."""

from fastapi import APIRouter

from kgcheck.service.page import finding, nodes, overview, patches, questions, runs, tasks, triage

router = APIRouter()
# The list comes first: its own addresses are none of a finding.
for part in (overview, triage, finding, nodes, patches, runs, questions, tasks):
    router.include_router(part.router)
