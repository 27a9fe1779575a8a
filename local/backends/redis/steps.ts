import { randomUUID } from 'node:crypto';
import type { StepStore } from '../../../core/contract/steps.ts';
import { scripts } from './scripts.ts';
import type { RedisState } from './state.ts';

/** A hash for each text, which Redis removes when it ends. */
export function redisSteps({
  link,
  prefix,
  clock,
}: Pick<RedisState, 'link' | 'prefix' | 'clock'>): StepStore {
  const keyOf = (name: string): string => `${prefix}:steps:${name}`;
  const during = 'writing steps';
  return {
    async read(name) {
      const asked = ['HMGET', keyOf(name), 'text', 'version'];
      const [text, version] = (await link.send('reading steps', asked)) as (string | null)[];
      return text != null && version != null ? { text, version } : null;
    },
    async write(name, text, over, endsAt) {
      const version = randomUUID();
      const keepMs = `${Math.max(1, endsAt - clock.now())}`;
      const args = ['write', over ?? '', version, text, keepMs];
      return (await link.run(during, scripts.steps, keyOf(name), args)) === 1 ? version : null;
    },
    remove: async (name, version) =>
      (await link.run(during, scripts.steps, keyOf(name), ['remove', version])) === 1,
  };
}
