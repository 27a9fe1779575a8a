/** Parses the replies of a beanstalkd server. A reply is a line, and after some words a block of data. */

import { type ErrorCode, LongshoreError } from '../../../core/base/errors.ts';

export interface Reply {
  /** `RESERVED`, `DELETED`, `NOT_FOUND`, … */
  readonly word: string;
  /** The first number after the word, such as the job's id; 0 = none. */
  readonly number: number;
  /**
   * Body of a job, or YAML; `null` = none. A string with one character per byte (latin1), because memory of strings is freed sooner than
   * memory of Buffers.
   */
  readonly data: string | null;
}

/** The bytes as they were put. */
export const bytesOf = (data: string): Buffer => Buffer.from(data, 'latin1');

/** Decodes the bytes as UTF-8. */
export const textOf = (data: string): string =>
  /[\x80-\xff]/.test(data) ? bytesOf(data).toString('utf8') : data;

const newline = 10;
const blank = 32;
/** Longer than any line that a server sends. */
const longestLine = 1_024;
const wordsWithData = new Set(['RESERVED', 'FOUND', 'OK']);

/** Parses the digits at `from` without making a string; -1 = no number, or it is too large. */
function numberAt(bytes: Buffer, from: number): number {
  let number = 0;
  let at = from;
  for (; bytes[at]! >= 48 && bytes[at]! <= 57; at++) number = number * 10 + bytes[at]! - 48;
  return at > from && Number.isSafeInteger(number) ? number : -1;
}

export function createReplyReader(take: (reply: Reply) => void) {
  /** The unfinished reply so far, and how many bytes it needs before parsing makes sense. */
  let kept: Buffer[] = [];
  let keptBytes = 0;
  let neededBytes = 0;

  function keep(rest: Buffer, needed: number): void {
    kept = rest.length > 0 ? [Buffer.from(rest)] : [];
    keptBytes = rest.length;
    neededBytes = needed;
  }

  return {
    /** Does not keep the chunk. Throws if it is not the protocol of beanstalkd: the connection cannot be used after that. */
    read(chunk: Buffer) {
      keptBytes += chunk.length;
      if (keptBytes < neededBytes) {
        kept.push(Buffer.from(chunk));
        return; // a large body is concatenated once
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
        // The length is the last number of the line (after OK, the only number).
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

/** Our code and advice for a refusal of the server. */
const meanings: Readonly<Record<string, readonly [code: ErrorCode, advice: string]>> = {
  OUT_OF_MEMORY: [
    'STORAGE_FULL',
    'beanstalkd has no memory left, or no space for its binlog: let workers drain it, or add memory or disk space.',
  ],
  JOB_TOO_BIG: [
    'LIMIT',
    'Start beanstalkd with a larger -z, and give beanstalkd() the same number as maxBodyBytes; or send less.',
  ],
  DRAINING: [
    'READ_ONLY',
    'beanstalkd is in drain mode (SIGUSR1) and takes no new jobs: send to another server.',
  ],
  UNKNOWN_COMMAND: ['BACKEND', 'Use beanstalkd 1.12 or newer.'],
  INTERNAL_ERROR: ['BACKEND', 'This is a bug of the server: read its log, and update it.'],
};

/** The error for an unexpected reply. It quotes only the word, never a payload. */
export function refusal(during: string, word: string): LongshoreError {
  const [code, advice] = meanings[word] ?? ['BACKEND', 'Check that the server is beanstalkd.'];
  return new LongshoreError(code, `beanstalkd answered ${word} while ${during}. ${advice}`);
}

/** `true` = the expected answer; `false` = NOT_FOUND. Throws for every other answer. */
export async function succeeded(reply: Promise<Reply>, expected: string, during: string): Promise<boolean> {
  const { word } = await reply;
  if (word === expected) return true;
  if (word === 'NOT_FOUND') return false;
  throw refusal(during, word);
}
