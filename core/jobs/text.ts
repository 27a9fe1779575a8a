/** Bytes of a stranger as text that fits into a job's record. */

/** The two ends of a stream in memory of a fixed size, however much goes through. */
export function keepEnds(maxBytes: number) {
  const headBytes = Math.ceil(maxBytes / 2);
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let total = 0;
  return {
    add(chunk: Uint8Array): void {
      const room = headBytes - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      tail = Buffer.concat([tail, chunk.subarray(room)]).subarray(headBytes - maxBytes);
      total += chunk.length;
    },
    /** All of it, or head and tail with a line between them that says how much is missing. */
    text(): string {
      const missing = total - head.length - tail.length;
      if (missing === 0) return decode(Buffer.concat([head, tail]));
      return `${decode(head)}\n[... ${missing} bytes left out ...]\n${decode(fromCharacter(tail))}`;
    },
  };
}

/** UTF-8; a character that is cut at the end is left out, bytes that are none become U+FFFD. */
export function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** Without the continuation bytes at the start, at most three. */
function fromCharacter(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && (bytes[start]! & 0xc0) === 0x80) start++;
  return bytes.subarray(start);
}

/** Cut so that it takes at most `maxChars` as JSON: a control character takes six, and too large an output is lost. */
export function fitJson(text: string, maxChars: number): string {
  let fitting = text.slice(0, maxChars);
  for (;;) {
    const over = JSON.stringify(fitting).length - maxChars;
    if (over <= 0) return fitting;
    fitting = fitting.slice(0, fitting.length - Math.ceil(over / 6));
  }
}
