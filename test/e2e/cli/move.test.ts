/** `longshore move`: what it refuses, what it says, and what it does with queues that cannot list their delayed jobs. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSqsQueues } from '../../../functions/aws/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { openEndpoint } from '../../services/aws/endpoint.ts';
import { freshDatabase } from '../../services/postgres/schemas.ts';
import { cli, imports, json, project, root, shopConfig } from './kit.ts';

const move = (from: string, to: string, ...more: string[]) => ['move', '--from', from, '--to', to, ...more];

/** A shop with jobs in two queues: one ready, one delayed and one dead letter in `mail`, one ready in `default`. */
async function filled(): Promise<string> {
  const folder = project();
  await cli(folder, ['enqueue', 'mail.send', '{"to":"nobody"}']);
  await cli(folder, ['work', '--drain', '--no-schedules']);
  await cli(folder, ['enqueue', 'mail.send', '{"to":"a@b.example"}']);
  await cli(folder, ['enqueue', 'mail.send', '{"to":"a@b.example"}', '--delay', '2h']);
  await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}']);
  return folder;
}

describe('longshore move refuses', () => {
  const wrong: readonly (readonly [title: string, argv: readonly string[], pattern: RegExp])[] = [
    ['no source', ['move', '--to', 'sqlite:b.db'], /Expected --from, got none/],
    ['no target', ['move', '--from', 'config'], /Expected --to, got none/],
    ['a word', move('config', 'postgres'), /Expected --to to be `config`, .* got "postgres"/],
    ['an unknown scheme', move('config', 'mysql://h/d'), /got "mysql:…"/],
    ['a misspelt scheme', move('config', 'postgre://h/d'), /Did you mean "postgres"/],
    ['an address without a host', move('config', 'redis:6379'), /redis:\/\/host/],
    ['a cloud', move('config', 'https://sqs.eu-central-1.amazonaws.com/1/q'), /longshore\.config\.ts/],
    ['a file that is not there', move('sqlite:none.db', 'config'), /There is no file .*none\.db/],
    ['a file without a name', move('config', 'sqlite:'), /sqlite:<path of a file>/],
    ['memory of another process', move('config', 'sqlite::memory:'), /sqlite:<path of a file>/],
    ['a config that is not there', move('config', './other.config.ts'), /other\.config\.ts/],
    ['the same words', move('config', 'config'), /got the same one twice/],
    ['the same file by two names', move('sqlite:jobs.db', 'sqlite:./jobs.db'), /got the same one twice/],
    ['the file of the config', move('config', 'sqlite:jobs.db'), /got the same one twice/],
    ['a queue that cannot be', move('config', 'sqlite:b.db', '--queue', 'a b'), /--queue/],
    ['words beside the flags', [...move('config', 'sqlite:b.db'), 'mail'], /longshore move --help/],
  ];
  it.each(wrong)('%s', async (_, argv, pattern) => {
    const folder = await filled();
    const { code, stdout, stderr } = await cli(folder, argv);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^(USAGE|CONFIG): /);
    expect(stderr).toMatch(pattern);
    expect(existsSync(join(folder, 'b.db'))).toBe(false);
    expect((await json(folder, ['status', 'mail'])).data).toMatchObject({
      queues: [{ ready: 1, delayed: 1, dead: 1 }],
    });
  });

  it('a queue that is not at the source, with the nearest name', async () => {
    const { code, stderr } = await cli(await filled(), move('config', 'sqlite:b.db', '--queue', 'mial'));
    expect(code).toBe(3);
    expect(stderr).toMatch(/NOT_FOUND: There is no queue "mial" at the source\. Did you mean "mail"\?/);
  });

  it('the same database by two addresses', async () => {
    const database = await freshDatabase();
    onTestFinished(() => database.drop());
    const other = new URL(database.url);
    other.searchParams.set('application_name', 'other');
    const { code, stderr } = await cli(project(), move(database.url, other.href));
    expect(code).toBe(2);
    expect(stderr).toMatch(/got the same one twice/);
  });

  it('a server that is not there, without repeating the password', async () => {
    const { code, stderr } = await cli(
      await filled(),
      move('config', 'postgres://me:secret@127.0.0.1:1/none'),
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/BACKEND: /);
    expect(stderr).not.toMatch(/secret/);
  });

  it('to begin beside another move', async () => {
    const folder = await filled();
    const backend = sqlite(join(folder, 'jobs.db'));
    onTestFinished(() => backend.close());
    await backend.stores!.keys.claim('longshore:move', 'another', Date.now() + 60_000);
    let at = Date.now();
    const hasty = {
      now: () => at,
      after(ms: number, run: () => void) {
        at += ms; // waiting costs no time here
        setImmediate(run);
        return () => {};
      },
    };
    const { code, stderr } = await cli(folder, move('config', 'sqlite:b.db'), { clock: hasty });
    expect(stderr).toMatch(/^Another move is at work here.*\nBUSY: /);
    expect(code).toBe(1);
  });
});

describe('longshore move', () => {
  it('moves one queue and leaves the others', async () => {
    const folder = await filled();
    const { code, data } = await json(folder, move('config', 'sqlite:b.db', '--queue', 'mail'));
    expect(code).toBe(0);
    expect(data).toMatchObject({
      from: 'sqlite',
      to: 'sqlite',
      moved: 2,
      delayed: 1,
      dead: 1,
      complete: true,
    });
    expect((await json(folder, ['status'])).data).toMatchObject({
      queues: [
        { queue: 'default', ready: 1 },
        { queue: 'mail', ready: 0, delayed: 0, dead: 0 },
      ],
    });
  });

  it('says what it did', async () => {
    const folder = await filled();
    const { code, stdout, stderr } = await cli(folder, move('config', 'sqlite:b.db'));
    expect(code).toBe(0);
    expect(stdout).toBe('3 jobs (1 delayed) and 1 dead letter moved from sqlite to sqlite.\n');
    expect(stderr).toBe('');
    const again = await cli(folder, move('config', 'sqlite:b.db'));
    expect(again).toEqual({ code: 0, stdout: 'Nothing moved from sqlite to sqlite.\n', stderr: '' });
  });

  it('leaves what runs, says so, and names the worker', async () => {
    const folder = await filled();
    const backend = sqlite(join(folder, 'jobs.db'));
    onTestFinished(() => backend.close());
    await backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs: 0 });
    await backend.stores!.workers!.heartbeat({
      id: 'w1',
      host: 'box',
      pid: 42,
      queues: ['mail'],
      concurrency: 1,
      startedAt: Date.now(),
      seenAt: Date.now(),
      running: 1,
      counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
      memoryBytes: 1,
    });
    const { code, stdout, stderr } = await cli(folder, move('config', 'sqlite:b.db'));
    expect(code).toBe(1);
    expect(stderr).toBe('1 worker may still run at the source (box:42). What they take runs there.\n');
    expect(stdout).toMatch(/^2 jobs \(1 delayed\) and 1 dead letter moved/);
    expect(stdout).toMatch(/\nStill on sqlite: 1 running\. Run the same command again/);
  });

  it('pauses at the target what is paused at the source', async () => {
    const folder = await filled();
    await cli(folder, ['pause', 'mail']);
    const { data } = await json(folder, move('config', 'sqlite:b.db'));
    expect(data).toMatchObject({ moved: 3, paused: ['mail'] });
    const target = sqlite(join(folder, 'b.db'));
    onTestFinished(() => target.close());
    expect((await target.admin!.stats('mail'))[0]).toMatchObject({ paused: true, ready: 1 });
  });

  it('takes the idempotency keys of done effects along, so that a second copy does not run', async () => {
    const folder = await filled();
    const one = ['enqueue', 'greet', '{"name":"Bob"}', '--key', 'bob'];
    await cli(folder, one);
    await cli(folder, ['work', '--drain', '--no-schedules']);
    await cli(folder, one);
    const { data } = await json(folder, move('config', 'sqlite:b.db', '--queue', 'default'));
    expect(data).toMatchObject({ moved: 1, keys: 1 });
    const target = sqlite(join(folder, 'b.db'));
    onTestFinished(() => target.close());
    const claim = await target.stores!.keys.claim('job:greet:bob', 'me', Date.now() + 1000);
    expect(claim).toEqual({ state: 'completed', value: '{"greeted":"Bob"}' });
  });

  it('keeps at the source what the target refuses, and says why', async () => {
    const folder = await filled();
    const small = `${imports}
      export const app = createApp({ jobs: [defineJob({ name: 'x', payload: z.null(), async handle() {} })] });
      export const backend = () => sqlite({ path: import.meta.dirname + '/small.db', maxBodyBytes: 100 });`;
    writeFileSync(join(folder, 'small.config.ts'), small);
    const { code, stdout } = await cli(folder, move('config', './small.config.ts', '--queue', 'mail'));
    expect(code).toBe(1);
    expect(stdout).toMatch(/^Nothing moved/);
    expect(stdout.match(/of mail stays: LIMIT: Expected a body of at most 100 bytes/g)).toHaveLength(3);
    expect((await json(folder, ['status', 'mail'])).data).toMatchObject({
      queues: [{ ready: 1, delayed: 1, leased: 0, dead: 1 }],
    });
  });
});

describe('longshore move and a queue that cannot list its delayed jobs (SQS)', () => {
  async function withSqs() {
    const endpoint = await openEndpoint();
    const folder = await filled();
    const prefix = `move${process.pid}-`;
    const { url } = endpoint;
    const queues = await createSqsQueues({ endpoint: url, queues: ['default', 'mail'], prefix });
    onTestFinished(async () => {
      for (const made of Object.values(queues))
        for (const one of [made, `${made}-dlq`]) await endpoint.deleteQueue(one);
      await endpoint.stop();
    });
    const config = `import { sqs } from ${JSON.stringify(join(root, 'functions/aws/index.ts'))};
      ${shopConfig.replace(/export const backend = .*/, '')}
      export const backend = () => sqs({ endpoint: '${url}', queueUrl: '${url}/000000000000/${prefix}' });`;
    writeFileSync(join(folder, 'sqs.config.ts'), config);
    return folder;
  }

  it('takes ready and delayed jobs, counts what it cannot, and gives back what is ready', async () => {
    const folder = await withSqs();
    const there = await json(folder, move('config', './sqs.config.ts', '--queue', 'mail'));
    expect(there.data).toMatchObject({
      to: 'sqs',
      moved: 2,
      delayed: 1,
      dead: 0,
      complete: false,
      left: { dead: 1 },
    });
    expect(there.code).toBe(1);
    const back = await cli(folder, move('./sqs.config.ts', 'sqlite:b.db', '--queue', 'mail'));
    expect(back.code).toBe(1);
    expect(back.stdout).toMatch(/^1 job moved from sqs to sqlite\./);
    expect(back.stdout).toMatch(/\nStill on sqs: 1 delayed\./);
  }, 120_000);
});
