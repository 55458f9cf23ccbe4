"""What becomes of findings: compared from run to run, decided on, repaired, and looked for by themselves."""
