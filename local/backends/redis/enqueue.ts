/** The sending side. Calls that come together share a script call per queue, each with its own result. */

import type { LongshoreError } from '../../../core/base/errors.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { sharing } from '../shared/sharing.ts';
import { knownElsewhere } from './known.ts';
import { jobText } from './rows.ts';
import { scripts } from './scripts.ts';
import { nextSortKey } from './sort-key.ts';
import type { RedisState } from './state.ts';

/** A longer call would keep other clients waiting for more than some 5 ms. Lua unpacks some 8,000 values at most. */
const mostMessages = 1_000;
const mostBytes = 2 * 1024 * 1024;
/** Script calls of one group that are under way. */
const mostUnderWay = 2;

/** A message, and the index of its result. */
interface Item {
  readonly message: OutgoingMessage;
  readonly index: number;
}

export function createEnqueue(state: RedisState): JobSender['enqueue'] {
  const { clock, ageingMs, maxBodyBytes } = state;

  function store(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    return arePlain(messages, maxBodyBytes) ? storePlain(messages) : storeAny(messages);
  }

  /** The quick way, for what most calls bring: no items, no groups. */
  async function storePlain(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const now = clock.now();
    const { queue } = messages[0]!;
    const args = [state.at(), `${ageingMs}`, state.channel(queue), `${messages.length}`];
    for (const message of messages) {
      const sortKey = nextSortKey(message.priority);
      args.push(sortKey + message.id, jobText(message, sortKey, now, now));
    }
    try {
      await run(queue, args);
    } catch (error) {
      return messages.map(({ id }) => ({ ok: false, id, error: error as LongshoreError }));
    }
    return messages.map(({ id }) => ({ ok: true, id, duplicate: false }));
  }

  /** Answers with the indexes of the careful messages that the queue has known already. */
  async function run(queue: string, args: readonly string[]): Promise<number[]> {
    const running = state.link.run('enqueueing', scripts.enqueue, state.base(queue), args);
    const registering = state.register(queue);
    const known = (registering ? (await Promise.all([running, registering]))[0] : await running) as number[];
    state.wake();
    return known;
  }

  async function storeAny(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const results: SendResult[] = new Array(messages.length);
    const items: Item[] = [];
    for (const [index, message] of messages.entries()) {
      const error = tooLarge(message.body, maxBodyBytes);
      if (error) results[index] = { ok: false, id: message.id, error };
      else items.push({ message, index });
    }
    const byQueue = Map.groupBy(items, ({ message }) => message.queue);
    await Promise.all([...byQueue].map(([queue, some]) => storeIn(queue, some, results)));
    return results;
  }

  async function storeIn(queue: string, items: readonly Item[], results: SendResult[]): Promise<void> {
    let rest = items;
    // Only an id that the caller chose can have been sent before.
    const chosen = items.filter(({ message }) => !message.hints?.isNew).map(({ message }) => message.id);
    if (chosen.length > 0) {
      try {
        const known = await knownElsewhere(state, queue, chosen, true);
        for (const item of items) if (known.has(item.message.id)) results[item.index] = sent(item, true);
      } catch (error) {
        return fail(items, error, results); // none of them was sent
      }
      rest = items.filter(({ index }) => results[index] === undefined);
    }
    await forEach(parts(rest), (part) => insert(queue, part, results), mostUnderWay);
  }

  async function insert(queue: string, items: readonly Item[], results: SendResult[]): Promise<void> {
    const now = clock.now();
    const args = [state.at(), `${ageingMs}`, state.channel(queue), ''];
    const careful: string[] = [];
    const carefulItems: Item[] = [];
    for (const item of items) {
      const { message } = item;
      const { id, priority, notBefore, hints } = message;
      const waitMs = notBefore === null ? 0 : Math.max(0, Math.ceil(notBefore - now));
      const sortKey = nextSortKey(priority);
      const text = jobText(message, sortKey, now, now + waitMs);
      if (hints?.isNew && waitMs === 0) args.push(sortKey + id, text);
      else {
        carefulItems.push(item);
        careful.push(sortKey + id, text, `${waitMs}`, hints?.isNew ? '1' : '0');
      }
    }
    args[3] = `${items.length - carefulItems.length}`;
    for (const value of careful) args.push(value);
    try {
      const known = await run(queue, args);
      for (const item of items) results[item.index] = sent(item, false);
      for (const i of known) {
        const item = carefulItems[i]!;
        results[item.index] = sent(item, true);
      }
    } catch (error) {
      fail(items, error, results);
    }
  }

  return sharing(mostMessages, store).together;
}

/** Of one queue, ready now, with new ids, and small enough for one call. */
function arePlain(messages: readonly OutgoingMessage[], maxBodyBytes: number): boolean {
  if (messages.length === 0 || messages.length > mostMessages) return false;
  const { queue } = messages[0]!;
  let bytes = 0;
  for (const { hints, notBefore, queue: its, body } of messages) {
    if (!hints?.isNew || notBefore !== null || its !== queue || body.length * 3 > maxBodyBytes) return false;
    bytes += body.length;
  }
  return bytes <= mostBytes;
}

function fail(items: readonly Item[], error: unknown, results: SendResult[]): void {
  for (const { index, message } of items)
    results[index] ??= { ok: false, id: message.id, error: error as LongshoreError };
}

const sent = ({ message: { id } }: Item, duplicate: boolean): SendResult => ({ ok: true, id, duplicate });

/** Parts that fit into one script call. */
function* parts(items: readonly Item[]): Generator<readonly Item[]> {
  let part: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const { length } = item.message.body;
    if (part.length === mostMessages || (part.length > 0 && bytes + length > mostBytes)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += length;
  }
  if (part.length > 0) yield part;
}
