/** Questions to services that may never answer, asked at most so often and waited for at most so long. */

import { type Clock, within } from '../../core/base/clock.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import type { MetricsSettings } from './options.ts';
import type { Sample } from './registrar.ts';

/** A question without an answer is given up after so long; until then no second one is asked. */
const giveUpMs = 60_000;

export interface AskLimits {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly cacheMs: number;
}

/** `null`: no answer in time, or a failure. Never rejects. All who ask at once wait for the same question. */
export function bounded<T>(
  { clock, timeoutMs, cacheMs }: AskLimits,
  question: () => Promise<T>,
): () => Promise<T | null> {
  let open: { readonly answer: Promise<T | null>; readonly since: number } | null = null;
  let last: { readonly answer: T | null; readonly at: number } | null = null;

  function ask(): NonNullable<typeof open> {
    const answer = question().then(
      (value) => ended(one, value),
      () => ended(one, null),
    );
    const one: NonNullable<typeof open> = { answer, since: clock.now() };
    return one;
  }

  function ended(one: typeof open, answer: T | null): T | null {
    if (open === one) {
      open = null;
      last = { answer, at: clock.now() };
    }
    return answer;
  }

  return async () => {
    const now = clock.now();
    if (last && now - last.at < cacheMs) return last.answer;
    if (!open || now - open.since >= giveUpMs) open = ask();
    const waitMs = open.since + timeoutMs - now;
    if (waitMs <= 0) return null; // somebody has waited in vain already
    return within<T | null>(clock, waitMs, open.answer, () => null);
  };
}

/** Asks each backend by itself: one that is away does not hide the others. Where there are several, samples have the label `backend`. */
export function eachAnswer<T>(
  clients: readonly Client[],
  settings: MetricsSettings,
  question: (client: Client) => Promise<T>,
) {
  const isOne = clients.length === 1;
  const asked = clients.map((client) => ({
    client,
    answer: bounded({ clock: client.app.clock, ...settings }, () => question(client)),
    own: isOne ? {} : { backend: client.name! },
  }));
  return {
    /** @param samplesOf gets `null` where there was no answer */
    all:
      (samplesOf: (answer: T | null, client: Client) => readonly Sample[]) => async (): Promise<Sample[]> => {
        const found = asked.map(async ({ client, answer, own }) =>
          samplesOf(await answer(), client).map(([labels, value]): Sample => [{ ...labels, ...own }, value]),
        );
        return (await Promise.all(found)).flat();
      },
    names: (...labels: string[]): string[] => (isOne ? labels : ['backend', ...labels]),
  };
}
