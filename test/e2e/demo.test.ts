import { join } from 'node:path';
import { afterAll, describe, it } from 'vitest';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { createAppQueues, startServiceBus } from '../../local/simulate/service-bus/server.ts';
import { openEndpoint } from '../services/aws/endpoint.ts';
import { startBeanstalkd } from '../services/beanstalkd/server.ts';
import { freshDatabase } from '../services/postgres/schemas.ts';
import { freshRedis } from '../services/redis/database.ts';
import { demo, demoTimeoutMs, expectWholeDemo, root } from './demo-kit.ts';

const database = await freshDatabase();
const beanstalkd = await startBeanstalkd(); // of its own: its tubes have no names of their own
const endpoint = await openEndpoint();
afterAll(async () => {
  await endpoint.stop();
  await beanstalkd.remove();
  await database.drop();
});

const addressesOf: Readonly<Record<string, Record<string, string>>> = {
  postgres: { DATABASE_URL: database.url },
  sqs: { SQS_ENDPOINT: endpoint.url },
  redis: { REDIS_URL: await freshRedis() },
  beanstalkd: { BEANSTALKD_URL: beanstalkd.url },
};

/** The smoke test has a large import on SQLite; what the backends differ in shows in a small one too. */
const rows = 1_000;

describe('the demo', { timeout: demoTimeoutMs }, () => {
  it.for(['memory', 'sync', 'postgres', 'sqs', 'redis', 'servicebus', 'beanstalkd'])(
    'does all that it promises with LONGSHORE_BACKEND=%s',
    (backend) => expectWholeDemo(backend, rows, { backend, addresses: addressesOf[backend] ?? {} }),
  );

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
    const later = { messageId: 'later', sessionId: null, notBefore: Date.now() + 3_600_000 };
    server.queue('mail').send([{ ...later, timeToLiveMs: null, properties: {}, content: {} }]);
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
    const { code, stdout, stderr } = await demo(['--rows', '20000'], { interruptAt: /invoices [1-9]/ });
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
