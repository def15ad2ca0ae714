"""Conditions that make the Python SDK wait for ever: none can happen, though the broker is made to fail.

More of them: `tests/unit/devhost/servicebus/test_faults.py` (errors told whole), `test_replies.py` (credit
for answers), `test_writer.py` (the writer fails); in `tests/broker`, `test_requests.py`, `test_renewers.py`
and `test_lost_answers.py` (one handler used by many at once), and `test_refused_links.py`.
"""
