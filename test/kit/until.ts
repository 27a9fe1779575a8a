import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves with what `look` sees, once that is something. Looks every 5 ms: what others do is seen only by asking.
 * @param withinMs only ends what hangs
 */
export async function until<T>(
  look: () => T | Promise<T>,
  withinMs = 60_000,
): Promise<Exclude<T, null | undefined | false>> {
  const deadline = Date.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false)
      return seen as Exclude<T, null | undefined | false>;
    if (Date.now() > deadline) throw new Error(`Expected it within ${withinMs} ms: ${look}`);
    await delay(5);
  }
}
