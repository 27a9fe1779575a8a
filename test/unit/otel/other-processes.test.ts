/** A trace that leaves the process: into an isolate and back, and into a command. */

import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, describe, expect, it } from 'vitest';
import { commandJob } from '../../../core/jobs/command.ts';
import { telemetry } from '../../../core/surfaces/otel/index.ts';
import * as jobs from '../sandbox/jobs.ts';
import { createBench } from '../sandbox/kit.ts';
import { ancestry, traceparentOf, watch, withContextManager } from './kit.ts';

withContextManager();

describe.each([
  ['thread', jobs.inThread],
  ['process', jobs.inProcess],
] as const)('a job in a %s', (_, job) => {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const t = createBench([job, jobs.plain], { concurrency: 2 }, [telemetry({ tracerProvider })]);
  afterAll(() => t.worker.stop());

  it('knows its span, and what it enqueues is below that', async () => {
    const record = await t.run(job, { act: 'facts' });
    const attempts = () => exporter.getFinishedSpans().filter(({ name }) => name === 'process default');
    const { context } = record.output as { context: { traceparent: string } };
    expect(context.traceparent).toBe(traceparentOf(attempts()[0]!));

    const asking = await t.run(job, { act: 'ask', n: 1 });
    const { id } = asking.output as { id: string };
    const ofChild = () =>
      attempts().find(({ attributes }) => attributes['messaging.message.id'] === id) ?? null;
    await expect.poll(ofChild).not.toBeNull();
    const steps = ['send default', 'process default'];
    expect(ancestry(exporter.getFinishedSpans(), ofChild()!)).toEqual([...steps, ...steps]);
  });
});

describe('a command', () => {
  const printed = async (options: object, context?: object) => {
    const command = commandJob({ allow: ['/usr/bin/env'], ...options });
    const t = watch({}, { jobs: [command] });
    await t.once(command, { command: '/usr/bin/env' }, context && { context });
    const { stdout } = (await t.client.status('id-1'))!.output as { stdout: string };
    return { line: /^TRACEPARENT=(.*)$/m.exec(stdout)?.[1], span: t.span('process default') };
  };

  it('finds its span in TRACEPARENT', async () => {
    const { line, span } = await printed({});
    expect(line).toBe(traceparentOf(span));
  });

  it('keeps the one of its definition', async () => {
    const own = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    expect((await printed({ env: { TRACEPARENT: own } })).line).toBe(own);
  });
});
