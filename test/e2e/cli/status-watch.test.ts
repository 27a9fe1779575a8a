/** `longshore status --watch`: a picture on a terminal, lines elsewhere, and an end. */

import { join } from 'node:path';
import { Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, project, type Surroundings, shopConfig } from './kit.ts';
import { runCli } from './spawned.ts';

const now = Math.floor(Date.now() / 60_000) * 60_000;
const withoutNumbers = shopConfig.replace(
  /export const backend = .*/,
  `export const backend = async () => {
    const opened = await sqlite(import.meta.dirname + '/jobs.db');
    const { metrics, ...stores } = opened.stores;
    return { ...opened, stores };
  };`,
);

/** Looks at 0, 2, 4 and 6 seconds; `between` is called before each look but the first. */
async function watched(cwd: string, around: Surroundings, between: (look: number) => Promise<unknown>) {
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
  const ended = cli(cwd, ['status', '--watch'], { clock, hungUp: gone.signal, stdout, ...around });
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
  await backend.stores!.workers.heartbeat({
    ...{ id: 'w', host: 'hafen-1', pid: 7, queues: ['default'], concurrency: 4, running: 3, memoryBytes: 1 },
    ...{ startedAt: now, seenAt: now + seconds * 1_000, counts },
  });
  await backend.close();
}

describe('status --watch', () => {
  it('draws in place on 80 columns, with rates from heartbeats where no numbers are kept', async () => {
    const cwd = project({ 'longshore.config.ts': withoutNumbers });
    await cli(cwd, [
      'enqueue',
      'greet',
      '{"name":"Ada"}',
      '--queue',
      'a-queue-with-a-name-that-is-much-too-long-for-a-line-of-80-columns',
    ]);
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
    expect(last[1]).toBe('1 worker, 3 of 4 slots busy; per minute 200 done, 0 failed, 100 retried');
    expect(last[3]).toMatch(/^queue +ready {2}run {2}dead {2}oldest {2}ready \+\/m$/);
    expect(last.find((line) => line.startsWith('default'))).toMatch(/^default +1 +0 +0 .* 10$/);
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

  it('goes on when a look fails, and says why', async () => {
    const cwd = project({
      'longshore.config.ts': shopConfig.replace(
        /export const backend = .*/,
        `let looks = 0;
        export const backend = async () => {
          const opened = await sqlite(import.meta.dirname + '/jobs.db');
          const stats = async (queue) => {
            if (queue === 'mail' && ++looks === 2) throw new Error('connection \\u001b[2J\\u202elost\\nnow');
            return opened.admin.stats(queue);
          };
          return { ...opened, admin: { ...opened.admin, stats } };
        };`,
      ),
    });
    const { code, chunks } = await watched(cwd, { isTTY: true, columns: 80, rows: 12 }, async () => {});
    expect(code).toBe(0);
    const pictures = chunks.filter((chunk) => chunk.startsWith('\u001b[H')).map(stripVTControlCharacters);
    expect(pictures[1]).toMatch(
      /^INTERNAL: connection +lost now\. .* where it comes\r\nfrom\.\r\nLooking again every 2 s; q ends\.$/,
    );
    expect(pictures[2]).toMatch(/default +0/);
  });

  it('ends at once while the backend is silent', async () => {
    const cwd = project({
      'longshore.config.ts': shopConfig.replace(
        /export const backend = .*/,
        `let looks = 0;
        export const backend = async () => {
          const opened = await sqlite(import.meta.dirname + '/jobs.db');
          const stats = async (queue) => {
            if (queue !== 'mail' || ++looks < 2) return opened.admin.stats(queue);
            console.log('silent');
            return new Promise(() => {});
          };
          return { ...opened, admin: { ...opened.admin, stats } };
        };`,
      ),
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
