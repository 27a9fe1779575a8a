/** A job with steps whose every boundary is known: what is called, and what has an effect. */

import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { createApp, defineJob, fixed, keyRing } from '../../../core/index.ts';
import { type BackendName, openers } from './backends.ts';

export function openStepEffects(path: string): DatabaseSync {
  const db = new DatabaseSync(path, { timeout: 20_000 });
  db.exec('PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS effects (queue TEXT, step TEXT, key TEXT)');
  return db;
}

/** @param happened `effect <step>`, or the name of a call of the queue or the store that has been answered */
export function stepApp(effects: DatabaseSync | null, happened: (what: string) => void) {
  const job = defineJob({
    name: 'story',
    payload: z.null(),
    maxRetries: 100,
    retry: fixed(50),
    timeoutMs: 60_000,
    async handle(_, ctx) {
      const effect = (name: string) =>
        ctx.step(name, ({ idempotencyKey }) => {
          effects!.prepare('INSERT INTO effects VALUES (?, ?, ?)').run(ctx.queue, name, idempotencyKey);
          happened(`effect ${name}`);
          return name;
        });
      const names = [await effect('one'), await effect('two')];
      await ctx.sleep(100);
      const got = await ctx.waitFor<string>('go', { timeoutMs: '1h' });
      return [...names, got?.payload, await effect('three')];
    },
  });
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  const queues = ['whole', ...Array.from({ length: 20 }, (_, i) => `q${i + 1}`)];
  const accepts = Object.fromEntries(queues.map((queue) => [queue, [job]]));
  return { job, app: createApp({ jobs: [job], signing, accepts }) };
}

/** The queue and its steps, each call of them announced when it has been answered. */
export async function openWatched(name: BackendName, address: string, happened: (what: string) => void) {
  const opened = await openers[name](address);
  const watched = <Verbs extends object>(verbs: Verbs, names: readonly (keyof Verbs & string)[]): Verbs => {
    const copy = { ...verbs };
    for (const verb of names) {
      const call = verbs[verb] as (...args: unknown[]) => Promise<unknown>;
      copy[verb] = (async (...args: unknown[]) => {
        const answer = await call(...args);
        happened(verb);
        return answer;
      }) as Verbs[typeof verb];
    }
    return copy;
  };
  const { hints: _, ...backend } = watched(opened.backend, ['ack', 'nack']);
  const stores = opened.store ?? opened.backend.stores!;
  const steps = watched(stores.steps!, ['read', 'write', 'remove']);
  return { backend, store: { ...opened.store, steps } };
}
