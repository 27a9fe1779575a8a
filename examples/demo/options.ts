import { parseArgs } from 'node:util';

export interface DemoOptions {
  readonly exitWhenIdle: boolean;
  readonly json: boolean;
  readonly keep: boolean;
  readonly help: boolean;
  readonly rows: number;
}

export const usage = `Usage: npm run demo -- [options]

A small shop's background work on one machine: a CSV import, invoices, mail, webhooks, pictures, a clip, a schedule,
with a mail server and a webhook receiver inside. Nothing leaves this computer.

  --exit-when-idle   end when everything is done; the exit code is 1 when something is missing
  --rows N           rows in the CSV file, 1 to 5000000 (default 10000)
  --json             print one JSON object at the end and nothing else
  --keep             never remove this run's files (else the next run does)
  --help             this text

Environment: LONGSHORE_BACKEND = sqlite (default), memory, sync, postgres with DATABASE_URL, redis with REDIS_URL,
beanstalkd with BEANSTALKD_URL, sqs with SQS_ENDPOINT (a local one: http://127.0.0.1:4566), or servicebus, which brings
its own unless SERVICEBUS_CONNECTION_STRING is that of \`npx longshore emulate servicebus\`; LONGSHORE_STORE = sqlite
(default), memory, postgres, or dynamodb with DYNAMODB_ENDPOINT, where the queue keeps no records; NO_COLOR turns
colours off.
`;

/** A wrong command line: a message for people, exit code 2. */
export class UsageError extends Error {}

export function readOptions(args: readonly string[]): DemoOptions {
  const values = parse(args);
  const rows = Number(values.rows);
  if (!/^\d+$/.test(values.rows) || rows < 1 || rows > 5_000_000) {
    throw new UsageError(`Expected --rows to be a whole number from 1 to 5000000, got "${values.rows}".`);
  }
  const { json, keep, help } = values;
  return { exitWhenIdle: values['exit-when-idle'], json, keep, help, rows };
}

function parse(args: readonly string[]) {
  try {
    const options = {
      'exit-when-idle': { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
      rows: { type: 'string', default: '10000' },
    } as const;
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    // Node adds a second sentence about escaping, which helps nobody here.
    throw new UsageError((error as Error).message.split(/\. |\n/)[0]!.replace(/\.?$/, '.'));
  }
}
