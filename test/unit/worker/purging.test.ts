import { expect, it } from 'vitest';
import { auditEntry } from '../../testing/laws/audit-entry.ts';
import { createBench } from './kit.ts';

const day = 86_400_000;

it('a worker removes what stands in the audit log for longer than 400 days', async () => {
  const t = createBench();
  const audit = t.backend.stores!.audit!;
  for (const ago of [0, 400, 401]) await audit.append(auditEntry(`${ago}`, t.clock.now() + 1 - ago * day));
  const worker = t.start({});
  await t.pass(1);
  expect((await audit.page({})).entries).toHaveLength(3);
  await t.pass(60_000, 10_000);
  expect((await audit.page({})).entries.map(({ id }) => id)).toEqual(['0']);
  await worker.stop();
});
