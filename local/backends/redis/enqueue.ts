/** The sending side. Calls that come together share a script call per queue, each with its own result. */

import type { LongshoreError } from '../../../core/base/errors.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { forEach } from '../../../core/kit/parallel.ts';
import { sharing } from '../shared/sharing.ts';
import { type Script, scripts } from './connection.ts';
import { jobText, nextSortKey } from './rows.ts';
import { knownElsewhere, type RedisState } from './state.ts';

/** Larger calls would block other clients for more than about 5 ms. Lua unpacks about 8,000 values at most. */
const mostMessages = 1_000;
const mostBytes = 2 * 1024 * 1024;
/** Concurrent script calls of one group. */
const mostUnderWay = 2;

/** A message, and the index of its result. */
interface Item {
  readonly message: OutgoingMessage;
  readonly index: number;
}

export function createEnqueue(state: RedisState): JobSender['enqueue'] {
  const { clock, ageingMs, maxBodyBytes } = state;

  async function store(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    if (fitsOneCall(messages, maxBodyBytes)) return insert(messages); // as most calls do
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
        for (const { message, index } of items)
          if (known.has(message.id)) results[index] = { ok: true, id: message.id, duplicate: true };
      } catch (error) {
        for (const { message, index } of items) results[index] = failed(message, error); // none was sent
      }
      rest = items.filter(({ index }) => results[index] === undefined);
    }
    const insertPart = async (part: readonly Item[]): Promise<void> => {
      const inserted = await insert(part.map(({ message }) => message));
      for (const [n, { index }] of part.entries()) results[index] = inserted[n]!;
    };
    await forEach(parts(rest), insertPart, mostUnderWay);
  }

  /** One script call. Messages that are ready now and have new ids go first, because they are cheaper to store. */
  function insert(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const now = clock.now();
    const { queue } = messages[0]!;
    const args = [state.at(), `${ageingMs}`, state.channel(queue), ''];
    const careful: string[] = [];
    const carefulIndexes: number[] = [];
    for (let i = 0; i < messages.length; i++) {
      const message = messages[i]!;
      if (message.group !== null) return insertApart(messages);
      const { notBefore, hints } = message;
      if (hints?.isNew && (notBefore === null || notBefore <= now)) {
        const sortKey = nextSortKey(message.priority);
        args.push(sortKey + message.id, jobText(message, sortKey, now, now));
      } else {
        carefulIndexes.push(i);
        addCareful(careful, message, now);
      }
    }
    args[3] = `${messages.length - carefulIndexes.length}`;
    for (const value of careful) args.push(value);
    return run(scripts.enqueue, args, messages, (n) => carefulIndexes[n]!);
  }

  /** Stores messages with a group by another script, so that the other messages do not pay for it. */
  async function insertApart(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const plain = messages.filter(({ group }) => group === null);
    const grouped = messages.filter(({ group }) => group !== null);
    const now = clock.now();
    const args = [...state.common(), state.channel(grouped[0]!.queue)];
    for (const message of grouped) addCareful(args, message, now);
    const [first, second] = await Promise.all([
      plain.length > 0 ? insert(plain) : [],
      run(scripts.grouped, args, grouped, (n) => n),
    ]);
    const [plainResults, groupedResults] = [first.values(), second.values()];
    return messages.map(({ group }) => (group === null ? plainResults : groupedResults).next().value!);
  }

  /** @param indexOf returns the index of the `n`-th message of the script */
  async function run(
    script: Script,
    args: readonly string[],
    messages: readonly OutgoingMessage[],
    indexOf: (n: number) => number,
  ): Promise<SendResult[]> {
    const { queue } = messages[0]!;
    try {
      const running = state.link.run('enqueueing', script, state.base(queue), args);
      const registering = state.register(queue);
      const answer = registering ? (await Promise.all([running, registering]))[0] : await running;
      state.waiters.wake(queue);
      const duplicates = new Set((answer as number[]).map(indexOf));
      return messages.map(({ id }, i) => ({ ok: true, id, duplicate: duplicates.has(i) }));
    } catch (error) {
      return messages.map((message) => failed(message, error));
    }
  }

  return sharing(mostMessages, store);
}

const failed = ({ id }: OutgoingMessage, error: unknown): SendResult => ({
  ok: false,
  id,
  error: error as LongshoreError,
});

/** Whether all messages are of one queue and have new ids, and fit into one script call. */
function fitsOneCall(messages: readonly OutgoingMessage[], maxBodyBytes: number): boolean {
  if (messages.length === 0 || messages.length > mostMessages) return false;
  const { queue } = messages[0]!;
  let bytes = 0;
  for (const { hints, queue: its, body } of messages) {
    if (!hints?.isNew || its !== queue || body.length * 3 > maxBodyBytes) return false;
    bytes += body.length;
  }
  return bytes <= mostBytes;
}

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

/** Four arguments of a script: sort key and id, text, ms until it may run, '1' = the id is new. */
function addCareful(args: string[], message: OutgoingMessage, now: number): void {
  const { id, priority, notBefore, hints } = message;
  const waitMs = notBefore === null ? 0 : Math.max(0, Math.ceil(notBefore - now));
  const sortKey = nextSortKey(priority);
  const text = jobText(message, sortKey, now, now + waitMs);
  args.push(sortKey + id, text, `${waitMs}`, hints?.isNew ? '1' : '0');
}
