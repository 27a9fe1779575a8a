/** Asks several backends for what one of them knows. */

import type { Client } from '../kernel/enqueue/client.ts';

/** The answer of the first one that knows; else the first error, because that one might have known; else that of the last. */
export async function firstOf<T>(
  clients: readonly Client[],
  ask: (client: Client) => Promise<T>,
  knows: (answer: T) => boolean,
): Promise<T> {
  const failures: unknown[] = [];
  let answer: T;
  for (const client of clients) {
    try {
      answer = await ask(client);
      if (knows(answer)) return answer;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return answer!;
}
