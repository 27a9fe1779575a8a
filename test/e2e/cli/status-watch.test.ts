/** `longshore status --watch`: a picture on a terminal, lines elsewhere, and an end. */

import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { columnsOf } from '../../../local/cli/output/ui.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, json, project, type Surroundings, shopOn } from './kit.ts';
import { runCli } from './spawned.ts';

const now = Math.floor(Date.now() / 60_000) * 60_000;
const withoutNumbers = shopOn(`async () => {
  const opened = await sqlite(import.meta.dirname + '/jobs.db');
  const { metrics, texts, ...stores } = opened.stores;
  return { ...opened, stores };
}`);

/** A shop where looking at the queue "mail" for the second time does this. */
const atSecondLook = (statements: string): string =>
  shopOn(`async () => {
    const opened = await sqlite(import.meta.dirname + '/jobs.db');
    let looks = 0;
    const stats = async (queue) => {
      if (queue === undefined && ++looks === 2) ${statements}
      return opened.admin.stats(queue);
    };
    return { ...opened, admin: { ...opened.admin, stats } };
  }`);

/** Looks at 0, 2, 4 and 6 seconds; `between` is called before each look but the first. */
async function watched(
  cwd: string,
  around: Surroundings,
  between: (look: number) => Promise<unknown>,
  line = 'status --watch',
) {
  const clock = createVirtualClock(now);
  const gone = new AbortController();
  let looks = 0;
  const chunks: string[] = [];
  const stdout = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk));
      done();
    },
  });
  const ended = cli(cwd, line.split(' '), { clock, hungUp: gone.signal, stdout, ...around });
  const isDrawn = () => chunks.filter((chunk) => /\[H|ready/.test(chunk)).length > looks;
  for (; looks < 4; looks++) {
    await expect.poll(isDrawn).toBe(true);
    await between(looks);
    if (looks < 3) clock.advance(2_000);
  }
  gone.abort();
  const { code, stderr } = await ended;
  return { code, stderr, chunks };
}

const messageIn = (queue: string, id: string) => ({
  ...{ id, queue, job: 'greet', body: '{}', priority: 4, notBefore: null, group: null, tenantId: null },
});

/** A worker that runs this job for 90 seconds, and reports how far it is. */
async function runsAt(cwd: string, id: string, progress: { done: number; total: number; message: string }) {
  const backend = await sqlite(join(cwd, 'jobs.db'));
  const [lease] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 600_000, waitMs: 0 });
  await backend.stores!.records.progress(id, lease!.token, { ...progress, at: now });
  const counts = { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 };
  await backend.stores!.workers!.heartbeat({
    ...{ id: 'w', host: 'hafen-1', pid: 7, queues: ['default'], concurrency: 4, running: 1, memoryBytes: 1 },
    ...{ startedAt: now, seenAt: now, counts, jobs: [{ id, job: 'greet', startedAt: now - 90_000 }] },
  });
  await backend.close();
}

/** A heartbeat as it would come every 5 seconds. */
async function beat(cwd: string, seconds: number, done: number): Promise<void> {
  const backend = await sqlite(join(cwd, 'jobs.db'));
  const counts = {
    acked: done,
    requeued: done / 2,
    'dead-lettered': 1,
    rejected: 0,
    'skipped-idempotent': 0,
  };
  await backend.stores!.workers!.heartbeat({
    ...{ id: 'w', host: 'hafen-1', pid: 7, queues: ['default'], concurrency: 4, running: 3, memoryBytes: 1 },
    ...{ startedAt: now, seenAt: now + seconds * 1_000, counts },
  });
  await backend.close();
}

describe('status --watch', () => {
  it('draws in place on 80 columns, with rates from heartbeats where no numbers are kept', async () => {
    const queue = 'a-queue-with-a-name-that-is-much-too-long-for-a-line-of-80-columns';
    const config = withoutNumbers.replace('jobs: [greet, send, slow],', `$& queues: { '${queue}': {} },`);
    const cwd = project({ 'longshore.config.ts': config });
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}', '--queue', queue]);
    await beat(cwd, 0, 100);
    const { code, chunks } = await watched(cwd, { isTTY: true, columns: 80, rows: 12 }, async (look) => {
      if (look === 1) await beat(cwd, 3, 110);
      if (look === 2) await cli(cwd, ['enqueue', 'greet', '{"name":"Bob"}']);
    });
    expect(code).toBe(0);
    expect(chunks[0]).toBe('\u001b[?1049h\u001b[?25l');
    expect(chunks.at(-1)!.startsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
    const pictures = chunks.filter((chunk) => chunk.startsWith('\u001b[H'));
    expect(pictures).toHaveLength(4);
    for (const picture of pictures) {
      expect(picture, 'nothing is cleared before it is drawn').not.toContain('\u001b[2J');
      for (const line of stripVTControlCharacters(picture).split('\r\n'))
        expect(line.length).toBeLessThanOrEqual(80);
    }
    const last = stripVTControlCharacters(pictures[3]!).split('\r\n');
    expect(last[1]).toBe('sqlite: 1 worker, 3 of 4 slots busy; per minute 200 done, 0 failed, 100 retried');
    expect(last[3]).toMatch(/^queue +ready {2}delayed {2}run {2}dead {2}oldest {2}ready \+\/m$/);
    expect(last.find((line) => line.startsWith('default'))).toMatch(/^default +1 +0 +0 +0 .* 10$/);
    expect(last.find((line) => line.startsWith('a-queue'))).toMatch(/^a-queue.*… +1 /);
  });

  it('has rates of each queue where numbers are kept, and colours for what is late', async () => {
    const cwd = project();
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    await cli(cwd, ['enqueue', 'mail.send', '{"to":"nobody"}']);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    const { chunks } = await watched(cwd, { isTTY: true, columns: 80, rows: 12 }, async () => {});
    const last = chunks.findLast((chunk) => chunk.startsWith('\u001b[H'))!;
    const lines = stripVTControlCharacters(last).split('\r\n');
    expect(lines[3]).toMatch(
      /^queue +ready {2}run {2}dead {2}oldest {2}done\/m {2}fail\/m {2}retry\/m +p95$/,
    );
    expect(lines.find((line) => line.startsWith('mail'))).toMatch(
      /^mail +0 +0 +1 +- +0 +(1|0\.\d) +0 +\d+ ms$/,
    );
    expect(last).toContain('\u001b[31m   1\u001b[39m'); // the dead letter
  });

  it('prints a line for each queue without a terminal', async () => {
    const cwd = project();
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    const { chunks } = await watched(cwd, {}, async () => {});
    const lines = chunks.join('').trimEnd().split('\n');
    expect(lines).toHaveLength(8);
    expect(lines[0]).toMatch(
      /^\d{4}-\d\d-\d\dT\S+Z default ready=1 delayed=0 running=0 dead=0 oldestMs=\d+ done\/m=0/,
    );
    expect(lines[1]).toMatch(/Z mail ready=0 /);
  });

  it.each(['status --watch', 'top'])(
    'shows with %s what runs, how far it is and for how long',
    async (line) => {
      const cwd = project();
      const { data } = await json(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
      const id = String(data!.id);
      await runsAt(cwd, id, { done: 4_500, total: 10_000, message: 'rows of 邮件\u202e' });
      const around = { isTTY: true, columns: 80, rows: 24 };
      const { chunks } = await watched(cwd, around, async () => {}, line);
      const last = stripVTControlCharacters(chunks.findLast((chunk) => chunk.startsWith('\u001b[H'))!);
      expect(last).toMatch(/^running for +job +id +worker +progress\r$/m);
      expect(last).toMatch(
        new RegExp(`^ +96 s +greet +${id.slice(0, 18)} +hafen-1:7 +45 %\r?\n {4}rows of 邮件\r?$`, 'm'),
      );
      for (const row of last.split('\r\n')) expect(columnsOf(row)).toBeLessThanOrEqual(80);
    },
  );

  it('scrolls and sorts, and says so', async () => {
    const queues = Array.from({ length: 30 }, (_, i) => `q-${String(i).padStart(2, '0')}`);
    const cwd = project();
    const backend = await sqlite(join(cwd, 'jobs.db'));
    for (const [i, queue] of queues.entries())
      await backend.enqueue(Array.from({ length: i % 7 }, (_, n) => messageIn(queue, `${queue}-job-${n}`)));
    await backend.close();
    const stdin = new PassThrough();
    const pictures: string[] = [];
    const stdout = new Writable({
      write(chunk, _, done) {
        pictures.push(stripVTControlCharacters(String(chunk)));
        done();
      },
    });
    const names = queues.filter((_, i) => i % 7 > 0);
    const io = {
      stdout,
      terminal: stdin,
      isTTY: true,
      columns: 80,
      rows: 12,
      clock: createVirtualClock(now),
    };
    const ended = cli(cwd, ['top', ...names], io);
    const shown = (part: RegExp) => expect.poll(() => pictures.at(-1)).toMatch(part);
    await shown(/s sorts \(name\), ↓ goes on\r\n.*q-01 .*lines 1 to 7 of 26$/s);
    stdin.write('\u001b[B');
    await shown(/lines 2 to 8 of 26$/s);
    stdin.write('\u001b[6~');
    await shown(/lines 6 to 12 of 26$/s);
    stdin.write('G');
    await shown(/↑ goes back\r\n.*q-29 .*lines 20 to 26 of 26$/s);
    stdin.write('g');
    stdin.write('s');
    stdin.write('s');
    await shown(/s sorts \(ready\).*\nq-06 +6 /s);
    stdin.write('q');
    expect((await ended).code).toBe(0);
  });

  it.each([
    ['jobs list', 'greet', { jobs: [{ job: 'greet' }] }],
    ['workers', 'No worker', { workers: [] }],
  ])('watches %s too, as a picture, lines or objects', async (line, part, data) => {
    const cwd = project();
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    for (const [more, shown] of [
      [[], part],
      [['--json'], '{'],
    ] as const) {
      const chunks: string[] = [];
      const gone = new AbortController();
      const clock = createVirtualClock(now);
      const stdout = new Writable({ write: (chunk, _, done) => done(void chunks.push(String(chunk))) });
      const isTTY = more.length === 0;
      const argv = [...line.split(' '), '--watch', ...more];
      const ended = cli(cwd, argv, { clock, hungUp: gone.signal, stdout, isTTY });
      const looks = () => chunks.filter((chunk) => chunk.includes(shown)).length;
      await expect.poll(looks).toBe(1);
      clock.advance(2_000);
      await expect.poll(looks).toBe(2);
      gone.abort();
      expect((await ended).code).toBe(0);
      if (!isTTY) for (const chunk of chunks) expect(JSON.parse(chunk)).toMatchObject(data);
      else expect(chunks.at(-1)).toMatch(/every 2 s, q ends/);
    }
    expect(await cli(cwd, [...line.split(' '), '--every', '3s'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--watch/),
    });
  });

  it('sorts status once, most first', async () => {
    const cwd = project();
    await cli(cwd, ['enqueue', 'mail.send', '{"to":"Ada"}']);
    const order = async (...more: string[]) =>
      ((await json(cwd, ['status', ...more])).data!.queues as { queue: string }[]).map(({ queue }) => queue);
    expect(await order()).toEqual(['default', 'mail']);
    for (const column of ['ready', 'oldest'])
      expect(await order('--sort', column)).toEqual(['mail', 'default']);
  });

  it('goes on when a look fails, and says why', async () => {
    const cwd = project({
      'longshore.config.ts': atSecondLook("throw new Error('connection \\u001b[2J\\u202elost\\nnow');"),
    });
    const { code, chunks } = await watched(cwd, { isTTY: true, columns: 80, rows: 12 }, async () => {});
    expect(code).toBe(0);
    const pictures = chunks.filter((chunk) => chunk.startsWith('\u001b[H')).map(stripVTControlCharacters);
    expect(pictures[1]).toMatch(
      /^INTERNAL: connection lost now\. .* where it comes\s+from\.\r\nLooking again every 2 s; q ends\.$/,
    );
    expect(pictures[2]).toMatch(/default +0/);
  });

  it('ends at once while the backend is silent', async () => {
    const cwd = project({
      'longshore.config.ts': atSecondLook("{ console.log('silent'); return new Promise(() => {}); }"),
    });
    const clock = createVirtualClock(now);
    const gone = new AbortController();
    const silent = vi.spyOn(console, 'log').mockImplementation(() => {});
    onTestFinished(() => silent.mockRestore());
    const shown = vi.fn();
    const stdout = new Writable({ write: (_chunk, _, done) => done(shown()) });
    const ended = cli(cwd, ['status', '--watch'], { clock, hungUp: gone.signal, stdout });
    await expect.poll(() => shown.mock.calls.length).toBe(1);
    clock.advance(2_000);
    await expect.poll(() => silent.mock.calls.length).toBe(1);
    gone.abort();
    expect(await ended).toMatchObject({ code: 0, stderr: '' }); // though the clock stands still
  });

  it.each([
    ['q', 'q'],
    ['Ctrl-C', '\u0003'],
  ])('ends at %s on a terminal, and gives it back', async (_, key) => {
    const { code, stdout } = await runCli(project(), 'status --watch --every 200ms', {
      terminal: true,
      when: /default/,
      act: (child) => child.stdin!.write(key),
    });
    expect(code).toBe(0);
    expect(stdout.trimEnd().split('\u001b[?1049l')[1]).toMatch(/default/);
  });

  it('gives programs an object for each look, and ends at a signal', async () => {
    const { code, stdout } = await runCli(project(), 'status --watch --every 200ms --json', {
      when: /\n.*\n/,
      act: (child) => child.kill('SIGINT'),
    });
    expect(code).toBe(0);
    for (const line of stdout.trim().split('\n')) {
      expect(JSON.parse(line)).toMatchObject({
        backend: 'sqlite',
        queues: [{ queue: 'default', rates: { donePerMinute: 0, waitP95Ms: null } }, { queue: 'mail' }],
        workers: { healthy: 0 },
      });
    }
  });
});

describe('jobs show --watch', () => {
  it('shows the progress of a job', async () => {
    const cwd = project();
    const { data } = await json(cwd, ['enqueue', 'greet', '{"name":"Ada"}']);
    const id = String(data!.id);
    const clock = createVirtualClock(now);
    const gone = new AbortController();
    let text = '';
    const stdout = new Writable({
      write(chunk, _, done) {
        text += String(chunk);
        done();
      },
    });
    const ended = cli(cwd, ['jobs', 'show', id, '--watch'], { clock, hungUp: gone.signal, stdout });
    await expect.poll(() => text).toContain('pending');
    await runsAt(cwd, id, { done: 3, total: 6, message: 'page 3' });
    clock.advance(2_000);
    await expect.poll(() => text).toContain('page 3 (3 of 6)');
    gone.abort();
    await ended;
  });
});
