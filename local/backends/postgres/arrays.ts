/**
 * Arrays in Postgres's binary format (array_recv). The text format escapes every quote of every body on both sides. That costs this
 * process three times as much as the rest of the insert.
 */

const oids = { text: 25, int8: 20, int4: 23 } as const;
const headerBytes = 20;
const nullLength = -1;

function header(out: Buffer, oid: number, length: number, hasNull: boolean): void {
  out.writeInt32BE(1, 0); // dimensions
  out.writeInt32BE(hasNull ? 1 : 0, 4);
  out.writeInt32BE(oid, 8);
  out.writeInt32BE(length, 12);
  out.writeInt32BE(1, 16); // the first index
}

const shortLength = 128;

/** Long texts are measured: reserving three bytes per character would cause a full garbage collection every few thousand jobs. */
const mostBytes = (text: string): number =>
  text.length < shortLength ? text.length * 3 : Buffer.byteLength(text);

/** As a `text[]` parameter. */
export function textArray(items: readonly (string | null)[]): Buffer {
  let bytes = headerBytes;
  // By index here and below: an iterator makes an object per item.
  for (let i = 0; i < items.length; i++) bytes += 4 + (items[i] === null ? 0 : mostBytes(items[i]!));
  const out = Buffer.allocUnsafe(bytes);
  let hasNull = false;
  let at = headerBytes;
  for (let i = 0; i < items.length; i++) {
    const item = items[i] as string | null;
    if (item === null) {
      hasNull = true;
      out.writeInt32BE(nullLength, at);
      at += 4;
    } else {
      const length = out.write(item, at + 4, 'utf8');
      out.writeInt32BE(length, at);
      at += 4 + length;
    }
  }
  header(out, oids.text, items.length, hasNull);
  return out.subarray(0, at);
}

/** As a `bigint[]` parameter; whole numbers up to 2^53. */
export function bigintArray(items: readonly number[]): Buffer {
  const out = Buffer.allocUnsafe(headerBytes + items.length * 12);
  header(out, oids.int8, items.length, false);
  for (let i = 0, at = headerBytes; i < items.length; i++, at += 12) {
    const item = items[i]!;
    out.writeInt32BE(8, at);
    out.writeInt32BE(Math.floor(item / 2 ** 32), at + 4);
    out.writeUInt32BE(item >>> 0, at + 8);
  }
  return out;
}

/** As an `int[]` parameter. */
export function intArray(items: readonly number[]): Buffer {
  const out = Buffer.allocUnsafe(headerBytes + items.length * 8);
  header(out, oids.int4, items.length, false);
  for (let i = 0, at = headerBytes; i < items.length; i++, at += 8) {
    out.writeInt32BE(4, at);
    out.writeInt32BE(items[i]!, at + 4);
  }
  return out;
}

/** Replaces U+0000, the only character that Postgres cannot store. */
export const storable = (text: string): string => text.replaceAll('\0', '\uFFFD');
