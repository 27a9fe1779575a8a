/** Around an isolated handler the middleware of the app runs in the worker, that of the job with its handler. */

import { afterAll, describe, expect, it } from 'vitest';
import { type HandlerContext, withContext } from '../../../core/index.ts';
import * as jobs from '../sandbox/jobs.ts';
import { createBench } from '../sandbox/kit.ts';
import { spawned, threaded, where } from '../sandbox/modules/layered.ts';

describe.each([
  ['thread', threaded],
  ['process', spawned],
] as const)('middleware around a handler in a %s', (_, job) => {
  const seen: unknown[] = [];
  const look = async (ctx: HandlerContext, next: () => Promise<unknown>) => {
    if (ctx.job !== job.name) return next();
    const context = { ...ctx.context, requestId: 'r-1' };
    try {
      const output = await withContext(context, next);
      seen.push({ app: where(), output });
      return output;
    } catch (error) {
      seen.push(String(error));
      throw error;
    }
  };
  const t = createBench([job, jobs.plain], { concurrency: 2 }, [look]);
  afterAll(() => t.worker.stop());
  const last = () => seen.at(-1) as { app: string; output: unknown };

  it('runs where it belongs, and hands context and output on', async () => {
    const record = await t.run(job, { act: 'look' }, { context: { tenantId: 'acme' } });
    const { output, job: layer } = record.output as { output: Record<string, unknown>; job: string };
    const context = { tenantId: 'acme', requestId: 'r-1', actorId: 'job' };
    expect(output).toMatchObject({ handler: layer, store: layer, context: [context, context] });
    expect(last()).toEqual({ app: where(), output: record.output });
    expect(layer).not.toBe(where());
    const child = () => t.eventsOf('job.settled').find(({ id }) => id === output.id);
    await expect.poll(child).toMatchObject({ tenantId: 'acme', requestId: 'r-1' });
  });

  it('sees what the handler threw', async () => {
    expect(await t.run(job, { act: 'throw' })).toMatchObject({ status: 'failed' });
    expect(last()).toBe('TypeError: from the handler');
  });

  it('leaves an output of nothing, and one that cannot be kept, as they are', async () => {
    expect(await t.run(job, { act: 'nothing' })).toMatchObject({ status: 'completed', output: null });
    expect(last()).toMatchObject({ output: null });
    expect(await t.run(job, { act: 'big' })).toMatchObject({ status: 'completed', output: null });
    expect(last()).toMatchObject({ output: undefined });
    expect(t.eventsOf('job.warning').at(-1)!.message).toMatch(/its output is not kept: .*BigInt/);
  });
});
