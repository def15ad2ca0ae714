"""Conditions that make the Python SDK wait for ever: none can happen, though the broker is made to fail.

More of them: `tests/unit/devhost/servicebus/test_faults.py` (errors told whole), `test_replies.py` (credit
for answers), `test_writer.py` (the writer fails); `tests/broker/test_requests.py` and the renewers of locks
in `test_receiving.py` and `test_sync_client.py` (one handler used by many at once).
"""
