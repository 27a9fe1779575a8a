import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { createAppQueues } from '../../local/simulate/service-bus/app-queues.ts';
import { startServiceBus } from '../../local/simulate/service-bus/server.ts';
import { openEndpoint } from '../services/aws/endpoint.ts';
import { startBeanstalkd } from '../services/beanstalkd/server.ts';
import { freshDatabase } from '../services/postgres/schemas.ts';
import { startRedis } from '../services/redis/server.ts';

const root = join(import.meta.dirname, '../..');
const database = await freshDatabase();
const redis = await startRedis();
const beanstalkd = await startBeanstalkd();
const endpoint = await openEndpoint();
afterAll(async () => {
  await endpoint.stop();
  await redis.remove();
  await beanstalkd.remove();
  await database.drop();
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface DemoOptions {
  readonly backend?: string;
  readonly interruptAt?: RegExp;
  /** Over the addresses of the test's own servers. */
  readonly addresses?: Readonly<Record<string, string>>;
}

/** Runs the demo as a newcomer does, and sends SIGINT once when its output matches `interruptAt`. */
async function demo(
  args: readonly string[],
  { backend = '', interruptAt, addresses }: DemoOptions = {},
): Promise<Ended> {
  // FORCE_COLOR beside NO_COLOR makes Node print a warning, and stderr must stay empty.
  const plain = { NO_COLOR: '1', FORCE_COLOR: undefined };
  const env = {
    ...process.env,
    ...plain,
    LONGSHORE_BACKEND: backend,
    LONGSHORE_SIGNING_KEYS: '',
    DATABASE_URL: database.url,
    SQS_ENDPOINT: endpoint.url,
    REDIS_URL: redis.url,
    SERVICEBUS_CONNECTION_STRING: undefined,
    SERVICEBUS_CONNECTION: undefined,
    BEANSTALKD_URL: beanstalkd.url,
    ...addresses,
  };
  const child = spawn(process.execPath, ['examples/demo/main.ts', ...args], { cwd: root, env });
  let stdout = '';
  let stderr = '';
  let interrupted = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (!interruptAt?.test(stdout) || interrupted) return;
    interrupted = true;
    child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const watchdog = setTimeout(() => child.kill('SIGKILL'), 110_000);
  const [code] = await once(child, 'close');
  clearTimeout(watchdog);
  return { code, stdout, stderr };
}

describe.concurrent('the demo', { timeout: 120_000 }, () => {
  it.for([
    ['', 'sqlite'],
    ['memory', 'memory'],
    ['sync', 'sync'],
    ['postgres', 'postgres'],
    ['sqs', 'sqs'],
    ['redis', 'redis'],
    ['servicebus', 'servicebus'],
    ['beanstalkd', 'beanstalkd'],
  ])('does all that it promises with LONGSHORE_BACKEND=%s', async ([backend, name], { expect }) => {
    const { code, stdout, stderr } = await demo(['--exit-when-idle', '--json', '--rows', '10000'], {
      backend: backend!,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const result = JSON.parse(stdout);
    const { durationMs, ...exact } = result;
    // the import and its 21 chunks, 120 invoices drawn, mailed and announced, 24 pictures, 5 payments
    const ordered = 1 + 21 + 3 * 120 + 24 + 5;
    const reports = result.jobs.acked - ordered; // the schedule fires by the clock, so how often is not ours to say
    expect(reports).toBeGreaterThanOrEqual(1);
    expect(durationMs).toBeGreaterThan(0);
    expect(exact).toEqual({
      backend: name,
      jobs: {
        acked: ordered + reports,
        requeued: 3,
        'dead-lettered': 1,
        rejected: 1,
        'skipped-idempotent': 1,
      },
      files: 120 + 24 + 1,
      mails: 120,
      webhooks: 120,
      rows: 10_000,
    });
  });

  it('empties a Service Bus on this machine that it is given', async ({ expect }) => {
    const server = await startServiceBus();
    const addresses = { SERVICEBUS_CONNECTION_STRING: server.connectionString };
    const around = { backend: 'servicebus', addresses };
    const missing = await demo(['--exit-when-idle', '--json'], around);
    expect(missing).toMatchObject({ code: 1, stdout: '' });
    expect(missing.stderr).toMatch(
      /^CONFIG: Service Bus failed while looking for ".*", which queue ".*" needs/,
    );
    createAppQueues(server, ['default', 'images', 'import', 'mail', 'payments', 'webhooks']);
    for (const queue of ['default', 'default-failed', 'default/$DeadLetterQueue'])
      server.write(queue, 'left over from somebody else');
    const later = { messageId: 'later', notBefore: Date.now() + 3_600_000, timeToLiveMs: null };
    server.queue('mail').send([{ ...later, properties: {}, content: {} }]);
    const { code, stdout, stderr } = await demo(['--exit-when-idle', '--json', '--rows', '100'], around);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout).jobs).toMatchObject({ 'dead-lettered': 1, rejected: 1 });
    expect(server.bodies('mail')).toEqual([]);
    await server.stop();
  });

  it('leaves a Service Bus elsewhere alone', async ({ expect }) => {
    const addresses = {
      SERVICEBUS_CONNECTION_STRING:
        'Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=a;SharedAccessKey=c2VjcmV0',
    };
    const { code, stderr } = await demo(['--exit-when-idle'], { backend: 'servicebus', addresses });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^CONFIG: Expected SERVICEBUS_CONNECTION_STRING to be .* on this machine/,
      ),
    });
    expect(stderr).not.toContain('c2VjcmV0');
  });

  it('drains at SIGINT and leaves nothing half done', async ({ expect }) => {
    const { code, stdout, stderr } = await demo(['--rows', '100000'], { interruptAt: /invoices [1-9]/ });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const drained = /Drained: (\d+) jobs finished, (\d+) released, (\d+) waiting in the queue\./.exec(stdout);
    const [finished, released, waiting] = (drained ?? [])
      .slice(1)
      .map((text) => Number(text.replaceAll(',', '')));
    expect(finished).toBeGreaterThan(0);
    expect(released).toBeLessThanOrEqual(8);

    const folder = /Files so far: (\S+)/.exec(stdout)![1]!;
    const queue = sqlite(join(root, folder, 'queue.db'));
    const stats = await queue.admin!.stats();
    await queue.close();
    const sum = (count: (queue: (typeof stats)[number]) => number) =>
      stats.reduce((total, one) => total + count(one), 0);
    expect(sum(({ leased }) => leased)).toBe(0);
    expect(sum(({ ready, delayed }) => ready + delayed)).toBe(waiting);
  });

  it.for([
    ['postgres', 'DATABASE_URL'],
    ['sqs', 'SQS_ENDPOINT'],
    ['redis', 'REDIS_URL'],
  ])('says in one line what is wrong with an address for %s', async ([backend, name], { expect }) => {
    const { code, stdout, stderr } = await demo([], {
      backend: backend!,
      addresses: { [name!]: 'http://127.0.0.1:1' },
    });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^[A-Z_]+: .+\n$/);
  });

  it('asks no host for a database of another kind, and shows no password', async ({ expect }) => {
    const addresses = { DATABASE_URL: 'mysql://shop:secret@no-such-host.invalid/shop' };
    const { code, stdout, stderr } = await demo([], { backend: 'postgres', addresses });
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toBe(
      'CONFIG: postgres() expects a URL like postgres://user:password@host:5432/database, got another. In the password, write characters such as # and / as %23 and %2F.\n',
    );
  });

  it('refuses an unknown flag and a wrong number with exit code 2', async ({ expect }) => {
    const unknown = await demo(['--exit-when-idel']);
    expect(unknown).toMatchObject({ code: 2, stdout: '' });
    expect(unknown.stderr).toContain("Unknown option '--exit-when-idel'. See: npm run demo -- --help");
    const wrong = await demo(['--rows', 'many']);
    expect(wrong).toMatchObject({ code: 2, stdout: '' });
    expect(wrong.stderr).toContain('Expected --rows to be a whole number from 1 to 5000000, got "many".');
  });

  it('names the backends there are when asked for another', async ({ expect }) => {
    const { code, stderr } = await demo(['--exit-when-idle'], { backend: 'kafka' });
    expect(code).toBe(1);
    expect(stderr).toBe(
      'CONFIG: Expected LONGSHORE_BACKEND to be one of sqlite, memory, sync, postgres, sqs, servicebus, redis, beanstalkd, got "kafka".\n',
    );
  });
});
