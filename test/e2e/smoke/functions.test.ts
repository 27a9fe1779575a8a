import { describe, it } from 'vitest';
import { configFor, main } from '../../services/azure/simulate-kit.ts';
import { projects, runCli } from '../cli/spawned.ts';

const project = projects();

describe('longshore simulate functions', { timeout: 300_000 }, () => {
  it('shows each call, retries by copies, and what is dead at the end', async ({ expect }) => {
    const cwd = project({ 'main.ts': main, 'longshore.config.ts': configFor(['well', 'late', 'badly']) });
    const { code, stdout, stderr } = await runCli(cwd, 'simulate functions --port 0 --exit-when-idle');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const line of [
      /▸ servicebus +Endpoint=sb:\/\/127\.0\.0\.1:\d+;/,
      /▸ functions +no host\.json, so the defaults of the host; 16 concurrent calls/,
      /» schedule +called/,
      /→ mail +1 message/,
      / {10}job late 1\n/,
      /↻ ends +attempt 1, again in 100 ms: not yet/,
      /✓ ends +.*, attempt 2/,
      /✗ ends +dead-lettered \(permanent\): no such order/,
      /idle: 4 invocations in .*, 4 messages, 4 done\.\nqueue +ready +delayed +hidden +dead\nmail +0 +0 +0 +1\n$/,
    ])
      expect(stdout).toMatch(line);
  });
});
