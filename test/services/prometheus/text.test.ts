/** The text of a scrape, read by Prometheus's own parser and judged by its rules for good names. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { PermanentError } from '../../../core/index.ts';
import { job } from '../../unit/core/kit.ts';
import { meteredBench, valuesOf } from '../../unit/prometheus/kit.ts';
import { promtool } from './programs.ts';

/** What promtool complains of. */
async function check(metrics: string): Promise<string> {
  const child = spawn(promtool(), ['check', 'metrics'], { stdio: ['pipe', 'ignore', 'pipe'] });
  child.stdin.end(metrics);
  const [said] = await Promise.all([text(child.stderr), once(child, 'close')]);
  return said;
}

it('is taken without a complaint, whatever tenants are called', async () => {
  const work = job({
    handle: ({ fails }: { fails?: boolean }) => {
      if (fails) throw new PermanentError('no');
    },
  });
  const b = meteredBench({ jobs: [work] }, { maxTenants: 20 });
  const tenants = [
    'plain',
    'a"b',
    'a\\',
    'a\nb 1',
    'a\r\tb',
    '}',
    '# HELP',
    'ü漢😀',
    '\u0001\u007f\u2028',
    '\ud800',
  ];
  for (const tenantId of tenants) {
    await b.client
      .enqueue(work, { fails: tenantId.length > 3 }, { context: { tenantId } })
      .then(b.next, () => {});
  }
  const metrics = await b.metered.text();
  expect(Object.keys(valuesOf(metrics)).filter((key) => key.includes('tenant="a')).length).toBeGreaterThan(3);
  expect(await check(metrics)).toBe('');
});

it('is judged by a parser that would complain', async () => {
  expect(await check('queue_up{backend="a\nb"} 1\n')).toMatch(/error while linting/);
  expect(await check('# TYPE jobs counter\njobs 1\n')).toMatch(/counter metrics should have "_total" suffix/);
});
