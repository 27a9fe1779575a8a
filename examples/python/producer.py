"""Writes one signed envelope: producer.py JOB PAYLOAD_JSON QUEUE, keys in LONGSHORE_SIGNING_KEYS.

Prints exactly the text that goes into the queue, without a line feed. docs/envelope.md explains every member.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
import uuid


def envelope(job, payload, queue, kid, secret):
    members = {
        "v": 1, "job": job, "payload": payload, "queue": queue, "priority": 5, "maxRetries": 3, "attempts": 0,
        "name": None, "identifier": str(uuid.uuid4()), "idempotencyKey": None, "schedule": None,
        "issuedAt": time.time_ns() // 1_000_000, "expiresAt": None, "context": None, "kid": kid,
    }
    signed = json.dumps(members, ensure_ascii=False, allow_nan=False, separators=(",", ":"))[:-1]
    return f'{signed},"_sig":"{hmac.new(secret, signed.encode(), hashlib.sha256).hexdigest()}"}}'


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: producer.py JOB PAYLOAD_JSON QUEUE")
    kid, _, key = os.environ["LONGSHORE_SIGNING_KEYS"].split(",")[0].strip().partition(":")
    text = envelope(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3], kid, base64.b64decode(key, validate=True))
    sys.stdout.buffer.write(text.encode())
