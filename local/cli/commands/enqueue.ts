import { LongshoreError } from '../../../core/base/errors.ts';
import { flag } from '../config/flags.ts';
import { hint } from '../config/nearest.ts';
import { duration, idempotencyKey, integer, moment, name, priority } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';
import { defineCommand } from '../definition.ts';
import { when } from '../output/ui.ts';
import { parsedPayload, payloadFromStdin } from './payload-argument.ts';

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
    key: flag('--key <text>', 'idempotency key: two jobs with the same key have one effect', idempotencyKey),
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
    // As a moment, so that the printed time is the one that was sent.
    const now = app.clock.now();
    const at = flags.delay === undefined ? flags.runAt?.getTime() : now + flags.delay;
    const later = at !== undefined && at > now ? at : null;
    const { queue: wanted, priority, key: idempotencyKey, maxRetries } = flags;
    const runAt = later === null ? undefined : new Date(later);
    const options = given({ runAt, queue: wanted, priority, idempotencyKey, maxRetries });
    const { id, queue, duplicate } = await client.enqueue(job, payload, options);
    if (client.backend.name === 'memory') {
      input.note(
        'Note: the memory backend ends with this process, and the job with it. Use sqlite to keep jobs.',
      );
    }
    if (duplicate) input.note('Note: this job stands already, so nothing was added.');
    return {
      data: { id, job: job.name, queue, runAt: later, ...(duplicate && { duplicate }) },
      text: `${id}  ${job.name} in queue ${queue}${later === null ? '' : `, not before ${when(later)}`}`,
    };
  },
});
