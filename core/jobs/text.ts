/** Bytes of a stranger as text that fits into a job's record. */

/** The two ends of a stream in memory of a fixed size, however much goes through. */
export interface Ends {
  add(chunk: Uint8Array): void;
  /** All of it, or head and tail with a line between them that says how much is missing. */
  text(): string;
}

export function keepEnds(maxBytes: number): Ends {
  const head = Buffer.alloc(Math.ceil(maxBytes / 2));
  const tail = Buffer.alloc(maxBytes - head.length);
  let total = 0;
  return {
    add(chunk) {
      const room = Math.max(0, head.length - total);
      head.set(chunk.subarray(0, room), Math.min(total, head.length));
      // Only the last bytes of a chunk can be in the tail at its end.
      const rest = chunk.subarray(Math.max(Math.min(room, chunk.length), chunk.length - tail.length));
      let at = (total + chunk.length - rest.length - head.length) % tail.length;
      for (let from = 0; from < rest.length; at = 0) {
        const piece = rest.subarray(from, from + tail.length - at);
        tail.set(piece, at);
        from += piece.length;
      }
      total += chunk.length;
    },
    text() {
      if (total <= head.length) return decode(head.subarray(0, total));
      const inTail = total - head.length;
      if (inTail <= tail.length) return decode(Buffer.concat([head, tail.subarray(0, inTail)]));
      const start = inTail % tail.length;
      const end = Buffer.concat([tail.subarray(start), tail.subarray(0, start)]);
      const missing = inTail - tail.length;
      return `${decode(head)}\n[... ${missing} bytes left out ...]\n${decode(fromCharacter(end))}`;
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
