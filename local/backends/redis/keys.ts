import type { KeyClaim, KeyStore } from '../../../core/contract/store.ts';
import { scripts } from './scripts.ts';
import type { RedisState } from './state.ts';

type ClaimAnswer = ['claimed' | 'completed', value: string] | ['running', remainingMs: string];

/** '=' in front of a value: an empty value differs from none. */
const stored = (value: string | null): string => (value === null ? '' : `=${value}`);

export function redisKeys(state: RedisState): KeyStore {
  const { clock, link } = state;

  const call = (action: string, key: string, owner: string, until: number, value: string) => {
    const holdMs = Math.ceil(until - clock.now());
    return link.run(`${action} of a key`, scripts.keys, state.key(key), [
      state.at(),
      action,
      owner,
      `${holdMs}`,
      value,
    ]);
  };
  const write = async (...args: Parameters<typeof call>): Promise<boolean> => (await call(...args)) === 1;

  return {
    async claim(key, owner, holdUntil): Promise<KeyClaim> {
      const calledAt = clock.now();
      const [found, text] = (await call('claim', key, owner, holdUntil, '')) as ClaimAnswer;
      if (found === 'running') return { state: found, until: calledAt + Number(text) };
      return { state: found, value: text === '' ? null : text.slice(1) };
    },
    extend: (key, owner, holdUntil) => write('extend', key, owner, holdUntil, ''),
    complete: (key, owner, { value, keepUntil }) => write('complete', key, owner, keepUntil, stored(value)),
    release: (key, owner, keep) =>
      write('release', key, owner, keep?.keepUntil ?? clock.now(), keep ? stored(keep.value) : ''),
  };
}
