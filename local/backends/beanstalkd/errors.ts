import { type ErrorCode, LongshoreError } from '../../../core/base/errors.ts';
import type { Reply } from './replies.ts';

/** What a server's refusal means here. */
const meanings: Readonly<Record<string, readonly [code: ErrorCode, advice: string]>> = {
  OUT_OF_MEMORY: [
    'STORAGE_FULL',
    'beanstalkd has no memory left, or no space for its binlog: let workers drain it, or give it more.',
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
  INTERNAL_ERROR: [
    'BACKEND',
    "This is a bug of the server: read its log, and don't go on with an old version.",
  ],
};

/** For a reply that is no answer to the command. It quotes the one word and no payload. */
export function refusal(during: string, word: string): LongshoreError {
  const [code, advice] = meanings[word] ?? ['BACKEND', 'Check that the server is beanstalkd.'];
  return new LongshoreError(code, `beanstalkd answered ${word} while ${during}. ${advice}`);
}

/** Whether the command did what it should; `false` = NOT_FOUND. Throws for every other answer. */
export async function succeeded(reply: Promise<Reply>, expected: string, during: string): Promise<boolean> {
  const { word } = await reply;
  if (word === expected) return true;
  if (word === 'NOT_FOUND') return false;
  throw refusal(during, word);
}
