/** The other end of `Bench.start`: runs one task in a process of its own and reports what it measured. */

import { once } from 'node:events';
import type { Host } from './task.ts';

type Tasks = Record<string, (input: never, host: Host) => Promise<unknown>>;

/** Loaded when asked for: no suite pays memory for the drivers of another. */
const suites: Record<string, () => Promise<{ tasks: Tasks }>> = {
  sqlite: () => import('../sqlite/tasks.ts'),
  postgres: () => import('../postgres/tasks.ts'),
  redis: () => import('../redis/tasks.ts'),
  beanstalkd: () => import('../beanstalkd/tasks.ts'),
};

process.once('disconnect', () => process.exit(1)); // never outlive the parent
const [folder = '', suite = ''] = process.argv.slice(2);
const [{ task, input }] = (await once(process, 'message')) as [{ task: string; input: never }];
const host: Host = {
  folder,
  async waitForGo() {
    const go = once(process, 'message');
    process.send!({ ready: true });
    await go;
  },
};
try {
  const { tasks } = await suites[suite]!();
  const run = tasks[task];
  if (!run) throw new Error(`There is no task "${task}".`);
  const result = await run(input, host);
  process.send!({ result }, () => process.exit(0));
} catch (error) {
  process.send!({ error: (error as Error).stack ?? String(error) }, () => process.exit(1));
}
