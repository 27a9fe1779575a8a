/**
 * HMAC-SHA256 (RFC 2104) from one-shot hashes. `createHmac` makes an object with a native half for every call, which
 * costs an attempt more than the hashing itself; the result is the same, and a test holds it against `createHmac`.
 */

import { crypto } from '../base/crypto.ts';

const blockBytes = 64;
const digestBytes = 32;

/** Returns a function from text (taken as UTF-8) to its MAC in lower-case hex. Loads `node:crypto` when it is first called. */
export function hmacSha256(secret: Uint8Array): (text: string) => string {
  const own = Uint8Array.from(secret); // as it is now, whatever the caller does with it
  let mac: ((text: string) => string) | null = null;
  return (text) => {
    mac ??= macOf(own);
    return mac(text);
  };
}

function macOf(secret: Uint8Array): (text: string) => string {
  const { hash } = crypto();
  const key = Buffer.alloc(blockBytes);
  key.set(secret.byteLength > blockBytes ? hash('sha256', secret, 'buffer') : secret);
  const outer = Buffer.alloc(blockBytes + digestBytes);
  outer.set(key.map((byte) => byte ^ 0x5c));
  const innerPad = key.map((byte) => byte ^ 0x36);
  const inner = withRoom(16_384);
  let front = inner;

  /** Texts of one job are mostly of one length, and so is the part of `inner` that they fill. */
  function frontOfInner(length: number): Buffer {
    if (front.length !== length) front = inner.subarray(0, length);
    return front;
  }

  function withRoom(textBytes: number): Buffer {
    const buffer = Buffer.alloc(blockBytes + textBytes);
    buffer.set(innerPad);
    return buffer;
  }

  return (text) => {
    // A UTF-16 unit is at most three bytes in UTF-8. A rare long text gets a buffer of its own, so none stays large.
    const mostBytes = text.length * 3;
    const buffer = blockBytes + mostBytes > inner.length ? withRoom(mostBytes) : inner;
    const length = blockBytes + buffer.write(text, blockBytes, 'utf8');
    const filled = buffer === inner ? frontOfInner(length) : buffer.subarray(0, length);
    outer.write(hash('sha256', filled), blockBytes, 'hex');
    return hash('sha256', outer);
  };
}
