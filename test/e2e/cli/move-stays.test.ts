/** `longshore move` where something at the source needs the jobs that would move: it refuses in words, and moves nothing. */

import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { verdicts } from '../../../local/move/verdicts.ts';
import { anything, secret as bytes } from '../../unit/core/kit.ts';
import { cli, json, project } from './kit.ts';

const greet = defineJob({ name: 'greet', payload: anything, handle: () => {} });
const send = defineJob({ name: 'mail.send', queue: 'mail', payload: anything, handle: () => {} });
const app = createApp({ jobs: [greet, send], signing: keyRing([{ kid: 'k', secret: bytes(1) }]) });

function open(folder: string, file = 'jobs.db') {
  const backend = sqlite(join(folder, file));
  onTestFinished(() => backend.close());
  return connect(app, backend);
}

const move = (...more: string[]) => ['move', '--from', 'sqlite:jobs.db', '--to', 'sqlite:b.db', ...more];

async function refused(folder: string, pattern: RegExp): Promise<void> {
  const { code, stdout, stderr } = await cli(folder, move());
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^CONFLICT: /);
  expect(stderr).toMatch(pattern);
  const { data } = await json(folder, ['status']);
  const { queues } = data as { queues: { ready: number; delayed: number }[] };
  expect(queues.some(({ ready, delayed }) => ready + delayed > 0)).toBe(true);
}

it('refuses while children of a batch would leave it, and no longer when it has ended or knows it', async () => {
  const folder = project();
  const client = open(folder);
  const { id } = await client.batch('rows', [1, 2, 3], { job: send, onComplete: greet });
  await client.enqueue(greet, {});
  await refused(folder, new RegExp(`Children of batches wait at the source.*: ${id}\\. Let them end here`));
  expect(await json(folder, move('--queue', 'default'))).toMatchObject({ code: 0, data: { moved: 1 } });
  await client.batches.cancel(id);
  expect(await json(folder, move())).toMatchObject({ code: 0, data: { moved: 1 } });
});

it('refuses while a job is paused here and not there', async () => {
  const folder = project();
  const client = open(folder);
  await client.enqueue(send, {});
  const pause = (one: typeof client) =>
    createOperator(one, { actor: 'ada', from: 'a test' }).jobs.pause('mail.send');
  await pause(client);
  await refused(folder, /Jobs are paused at the source and would run at the target: mail\.send\./);
  await pause(open(folder, 'b.db'));
  expect(await json(folder, move())).toMatchObject({ code: 0, data: { moved: 1 } });
});

it('refuses while a schedule made at run time is not at the target', async () => {
  const folder = project();
  const client = open(folder);
  await client.enqueue(send, {});
  const schedule = { name: 'digest', everyMs: 3_600_000, job: greet, payload: {} };
  await client.schedules.upsert(schedule);
  await refused(folder, /Schedules that were made at run time would stay behind: digest\./);
  await open(folder, 'b.db').schedules.upsert(schedule);
  expect(await json(folder, move())).toMatchObject({ code: 0, data: { moved: 1 } });
});

it('has a verdict on every store that a backend has', () => {
  const { stores } = memory();
  const names = Object.entries(stores!).flatMap(([name, one]) => (typeof one === 'object' ? [name] : []));
  expect(names.length).toBeGreaterThan(5);
  expect(Object.keys(verdicts)).toEqual(expect.arrayContaining(names));
});
