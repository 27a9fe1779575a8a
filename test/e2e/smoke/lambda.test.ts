import { describe, it } from 'vitest';
import { configFor } from '../../services/aws/simulate-kit.ts';
import { projects, runCli } from '../cli/spawned.ts';

const project = projects();

describe('longshore simulate lambda', { timeout: 300_000 }, () => {
  it('runs jobs until nothing is left, and counts what SQS was told', async ({ expect }) => {
    const cwd = project({ 'longshore.config.ts': configFor(['end', 'throw', 'permanent']) });
    const { code, data, stderr } = await runCli(cwd, 'simulate lambda --exit-when-idle --json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(data).toMatchObject({
      reason: 'idle',
      messages: 5, // one of them is delivered three times
      done: 3,
      reportedFailed: 2,
      failedInvocations: 0,
      redriven: 0,
      queues: { mail: { ready: 0, delayed: 0, hidden: 0, dead: 2 } },
    });
  });
});
