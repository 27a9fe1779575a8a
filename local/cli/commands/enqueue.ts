import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { LongshoreError } from '../../../core/base/errors.ts';
import { hint } from '../../../core/base/nearest.ts';
import { flag } from '../config/flags.ts';
import { duration, given, idempotencyKey, integer, moment, name, priority } from '../config/values.ts';
import { defineCommand, type Input } from '../definition.ts';
import { usage } from '../errors.ts';
import { count, plain, when } from '../output/ui.ts';

export const enqueue = defineCommand({
  path: 'enqueue',
  summary: 'enqueue one job',
  about:
    'The payload is JSON and is checked against the schema of the job before anything is sent. Quote it for your shell, or give - and send it on stdin.',
  args: [
    { name: '<job>', text: 'name of a job of the app', parse: name },
    { name: '<json>', text: 'the payload, or - to read it from stdin' },
  ],
  flags: {
    delay: {
      flags: '--delay <duration>',
      text: 'run it after this time',
      parse: duration(),
      conflicts: ['runAt'],
    },
    runAt: flag('--run-at <moment>', 'not before this moment, like 2030-01-31T18:00:00Z', moment),
    queue: flag('--queue <name>', "instead of the job's own queue", name),
    priority: flag('--priority <p>', '0 (first) to 9 (last), or critical, high, normal, low', priority),
    key: flag(
      '--key <text>',
      'idempotency key: of several jobs with the same key, only one runs',
      idempotencyKey,
    ),
    maxRetries: flag('--max-retries <n>', "instead of the job's own number", integer(0)),
  },
  examples: [
    `longshore enqueue greet '{"name":"Ada"}'`,
    `longshore enqueue invoice.send '{"invoiceId":"1042"}' --delay 15m --priority high --key 1042`,
    'jq -c .order order.json | longshore enqueue order.import - --json',
  ],
  exits: { 2: 'the command line, the name of the job or the payload is wrong, and nothing was sent' },
  async run(input) {
    const { args, flags, session } = input;
    const [jobName = '', json = ''] = args;
    const { app } = await session.config();
    const job = app.jobs.get(jobName);
    if (!job) {
      const known = hint(jobName, app.jobs.keys());
      throw new LongshoreError('UNKNOWN_JOB', `The app has no job "${jobName}".${known}`);
    }
    const payload = parsedPayload(json === '-' ? await payloadFromStdin(input) : json, json === '-');
    const client = await session.client();
    app.events.on((event) => {
      if (event.type === 'backend.warning') input.note(`Note: ${event.message}`);
    });
    // Converted to a time here, so that the printed time is exactly the one that is sent.
    const now = app.clock.now();
    const at = flags.delay === undefined ? flags.runAt?.getTime() : now + flags.delay;
    const later = at !== undefined && at > now ? at : null;
    const { queue: wanted, priority, key: idempotencyKey, maxRetries } = flags;
    const runAt = later === null ? undefined : new Date(later);
    const options = given({ runAt, queue: wanted, priority, idempotencyKey, maxRetries });
    const { id, queue, duplicate } = await client.enqueue(job, payload, options);
    if (client.backend.inProcess && client.backend.name !== 'sync') {
      input.note(
        "Note: this queue is in memory and ends with this process, and the job with it. To keep jobs, use a file: sqlite('jobs.db').",
      );
    }
    if (duplicate) input.note('Note: this job is already enqueued, so nothing was added.');
    return {
      data: { id, job: job.name, queue, runAt: later, ...(duplicate && { duplicate }) },
      text: `${id}  ${job.name} in queue ${queue}${later === null ? '' : `, not before ${when(later)}`}`,
    };
  },
});

export const emit = defineCommand({
  path: 'emit',
  summary: 'send an event to the jobs that wait for it',
  about:
    'Each job that waits for the event, with this key or without a key, continues once. If the command fails, repeat it: it then reaches the remaining jobs. The audit log has the event and the actor, but not the payload.',
  args: [{ name: '<event>', text: 'name of the event, as ctx.waitFor() has it', parse: name }],
  flags: {
    key: flag('--key <text>', 'reaches only jobs that wait with this key', String),
    payload: flag(
      '--payload <json>',
      'payload of the event: JSON, @ and the name of a file, or - to read it from stdin',
      String,
    ),
    keep: flag(
      '--keep <duration>',
      'jobs that start to wait within this time get it too, at most 30 days',
      duration(),
    ),
  },
  examples: [
    `longshore emit packed --key 1042 --payload '{"by":"Anna"}'`,
    'longshore emit release-approved --keep 1h',
  ],
  async run(input) {
    const { args, flags, session } = input;
    const [event = ''] = args;
    const payload = flags.payload === undefined ? undefined : await payloadOf(input, flags.payload);
    const { events } = await session.operator();
    const reached = await events.emit(event, payload, given({ key: flags.key, keepMs: flags.keep }));
    const kept = flags.keep === undefined ? '' : ' It is kept for jobs that start to wait later.';
    return {
      data: { event, key: flags.key ?? null, reached },
      text: `${plain(event)} has reached ${count(reached, 'job')}.${kept}`,
    };
  },
});

export async function payloadFromStdin({ io: { stdin, isTTY, stderr } }: Pick<Input, 'io'>): Promise<string> {
  if (isTTY.stdin) stderr.write('Reading the payload as JSON from the terminal; end it with Ctrl-D.\n');
  return textOf(stdin);
}

/** The message does not quote the text, which may be personal data. */
export function parsedPayload(text: string, piped: boolean): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const at = /at position (\d+)/.exec((cause as Error).message)?.[1];
    const place = at === undefined ? '' : ` at character ${Number(at) + 1}`;
    const how = piped ? 'Send one JSON value on stdin.' : `Quote it for the shell, like '{"name":"Ada"}'.`;
    const got = text.trim() === '' ? 'nothing' : `${text.length} characters that are not JSON${place}`;
    throw usage(`Expected the payload as JSON, got ${got}. ${how}`);
  }
}

export const payloadFlag = flag(
  '--payload <json>',
  'the complete new payload: JSON, @ and the name of a file, or - to read it from stdin',
  String,
);

/** @param given the value of `--payload` */
export async function payloadOf(input: Pick<Input, 'io'>, given: string): Promise<unknown> {
  if (given === '-') return parsedPayload(await payloadFromStdin(input), true);
  if (!given.startsWith('@')) return parsedPayload(given, false);
  const path = resolve(input.io.cwd, given.slice(1));
  const text = await readFile(path, 'utf8').catch((cause: Error) => {
    throw usage(
      `Expected a file with the payload after --payload @, could not read ${path}: ${cause.message}`,
    );
  });
  return parsedPayload(text, true);
}
