"""The effects ledger: what a job did to the outside, so that nothing is done twice and nothing is guessed."""
