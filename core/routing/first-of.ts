/** Asks several backends, one after another, until one knows the answer. */

import type { Client } from '../kernel/enqueue/client.ts';

/** Resolves with the first answer that `knows` accepts. If there is none, rejects with the first error, else resolves with the last answer. */
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
