/** What a worker on a terminal says of the jobs that it runs. */

import { Writable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { cli, project, type Surroundings, shopConfig } from './kit.ts';

const config = shopConfig
  .replace(
    'const slow = ',
    `const steps = defineJob({
  name: 'steps',
  payload: z.object({}),
  async handle(_, ctx) {
    await ctx.progress(45, 100, 'rows \\u001b[2J\\u202e');
    console.log('begun');
    await new Promise((resolve) => console.log(resolve));
  },
});
const slow = `,
  )
  .replace('jobs: [greet,', 'jobs: [steps, greet,');

/** Runs a job that takes seconds, by the clock of the terminal. */
async function worked(argv: readonly string[], around: Surroundings = {}): Promise<string> {
  const cwd = project({ 'longshore.config.ts': config });
  await cli(cwd, ['enqueue', 'steps', '{}']);
  const said: unknown[] = [];
  const log = vi.spyOn(console, 'log').mockImplementation((text) => void said.push(text));
  onTestFinished(() => log.mockRestore());
  let written = '';
  const stdout = new Writable({
    write(chunk, _, done) {
      written += String(chunk);
      done();
    },
  });
  const clock = createVirtualClock(Date.now());
  const gone = new AbortController();
  const ended = cli(cwd, argv, { stdout, clock, hungUp: gone.signal, isTTY: true, columns: 80, ...around });
  await expect.poll(() => said.length, { timeout: 20_000 }).toBe(2);
  const later = () => {
    clock.advance(1_000);
    return written;
  };
  if (around.isTTY === false || argv.includes('json')) for (let i = 0; i < 5; i++) later();
  else await expect.poll(later).toMatch(/running: .* s\)/);
  (said[1] as () => void)();
  await expect.poll(() => written).toMatch(/✓|job.settled/);
  gone.abort();
  await ended;
  return written;
}

describe.each([['work'], ['dev --no-watch']])('%s', (line) => {
  const argv = [...line.split(' '), '--no-schedules'];

  it('says on a terminal what runs and how far it is', async () => {
    const written = await worked(argv);
    expect(written).toMatch(/1 running: steps 45 % \(\d+ s\)/);
    expect(written.split('running:').at(-1), 'erased before what comes next').toContain('\r\u001b[K');
    expect(written).not.toContain('\u202e');
  });

  it.each([
    ['a pipe', [], { isTTY: false }],
    ['JSON lines', ['--log', 'json'], {}],
  ])('leaves %s alone', async (_, more, around) => {
    const written = await worked([...argv, ...more], around);
    for (const part of ['running:', '\u001b[K']) expect(written).not.toContain(part);
  });
});
