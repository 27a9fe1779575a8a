/** The other end of `Bench.start`: runs one task in a process of its own and reports what it measured. */

import { once } from 'node:events';
import * as longshore from './longshore.ts';
import { plainjob } from './plainjob.ts';
import { rawBulk, rawSingle } from './raw.ts';
import type { Host } from './task.ts';

const tasks: Record<string, (input: never, host: Host) => Promise<unknown>> = {
  ...longshore,
  plainjob,
  rawBulk,
  rawSingle,
};

process.once('disconnect', () => process.exit(1)); // never outlive the parent
const [{ task, input }] = (await once(process, 'message')) as [{ task: string; input: never }];
const host: Host = {
  folder: process.argv[2]!,
  async waitForGo() {
    const go = once(process, 'message');
    process.send!({ ready: true });
    await go;
  },
};
try {
  const run = tasks[task];
  if (!run) throw new Error(`There is no task "${task}".`);
  const result = await run(input, host);
  process.send!({ result }, () => process.exit(0));
} catch (error) {
  process.send!({ error: (error as Error).stack ?? String(error) }, () => process.exit(1));
}
