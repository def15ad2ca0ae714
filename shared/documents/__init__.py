"""Reading a document that somebody else wrote: which format it is, and its text, within limits."""
