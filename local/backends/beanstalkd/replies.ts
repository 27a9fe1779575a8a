/** Cuts what a beanstalkd server sends into replies: a line, and for some words so many bytes of data behind it. */

export interface Reply {
  /** `RESERVED`, `DELETED`, `NOT_FOUND`, … */
  readonly word: string;
  /** The first number behind the word, such as the job's id; 0 where there is none. */
  readonly number: number;
  /**
   * Body of a job, or YAML; `null` where the word brings none. A character per byte (latin1), because texts cost memory of the heap, which
   * is given back at once, where a Buffer for each of a thousand jobs costs memory that is given back late.
   */
  readonly data: string | null;
}

/** The bytes as they were put. */
export const bytesOf = (data: string): Buffer => Buffer.from(data, 'latin1');

/** What the bytes say in UTF-8. */
export const textOf = (data: string): string =>
  /[\x80-\xff]/.test(data) ? bytesOf(data).toString('utf8') : data;

export interface ReplyReader {
  /** The bytes are read before it returns, or copied. Throws when what comes is no beanstalkd: then nothing behind it can be trusted. */
  read(chunk: Buffer): void;
}

const newline = 10;
const blank = 32;
/** The longest line a server sends; more without an end is not the protocol. */
const longestLine = 1_024;
const wordsWithData = new Set(['RESERVED', 'FOUND', 'OK']);

/** The number at `from`, without a text made of them; -1 = there are none, or too many. */
function numberAt(bytes: Buffer, from: number): number {
  let number = 0;
  let at = from;
  for (; bytes[at]! >= 48 && bytes[at]! <= 57; at++) number = number * 10 + bytes[at]! - 48;
  return at > from && Number.isSafeInteger(number) ? number : -1;
}

export function createReplyReader(take: (reply: Reply) => void): ReplyReader {
  /** What has come and is not a whole reply yet, and how much it takes to look again. */
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let neededBytes = 0;

  function keep(rest: Buffer, needed: number): void {
    kept = rest.length > 0 ? [Buffer.from(rest)] : [];
    keptBytes = rest.length;
    neededBytes = needed;
  }

  return {
    read(chunk) {
      keptBytes += chunk.length;
      if (keptBytes < neededBytes) {
        kept.push(Buffer.from(chunk));
        return; // a large body is put together once
      }
      const bytes = kept.length === 0 ? chunk : Buffer.concat([...kept, chunk]);
      let from = 0;
      for (;;) {
        const end = bytes.indexOf(newline, from);
        if (end < 0) {
          if (bytes.length - from > longestLine) throw new Error('a line without an end');
          return keep(bytes.subarray(from), 0);
        }
        const lineEnd = end - 1; // \r\n
        let space = from;
        while (space < lineEnd && bytes[space] !== blank) space++;
        const word = bytes.toString('latin1', from, space);
        const number = numberAt(bytes, space + 1);
        if (!wordsWithData.has(word)) {
          if (!/^[A-Z_]+$/.test(word)) throw new Error('a line that is no reply of beanstalkd');
          take({ word, number: Math.max(0, number), data: null });
          from = end + 1;
          continue;
        }
        const start = end + 1;
        // The length is the last number: behind OK there is but one.
        const length = space < lineEnd ? numberAt(bytes, bytes.lastIndexOf(blank, lineEnd) + 1) : -1;
        if (length < 0) throw new Error('a reply without a length');
        const next = start + length + 2; // \r\n
        if (bytes.length < next) return keep(bytes.subarray(from), next - from);
        take({ word, number, data: bytes.toString('latin1', start, start + length) });
        from = next;
      }
    },
  };
}
