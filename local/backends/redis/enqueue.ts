/** The sending side. Calls that come together share a script call per queue, each with its own result. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { sharing } from '../shared/sharing.ts';
import type { RedisState } from './index.ts';
import { jobText, nextPlace } from './rows.ts';
import { scripts } from './scripts.ts';

/** A longer call would keep everybody else waiting for more than some 5 ms. Lua cannot take more than some 8,000 values at once. */
const mostMessages = 1_000;
const mostBytes = 2 * 1024 * 1024;
/** Script calls of one group that are under way. */
const mostUnderWay = 2;

/** A message, and where its result goes. */
interface Parcel {
  readonly message: OutgoingMessage;
  readonly at: number;
}

export function createEnqueue(state: RedisState, maxBodyBytes: number): JobSender['enqueue'] {
  const { clock, ageingMs } = state;

  function store(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    return arePlain(messages, maxBodyBytes) ? storePlain(messages) : storeAny(messages);
  }

  /** What most calls bring goes by a way without tables of who belongs where. */
  async function storePlain(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const now = clock.now();
    const { queue } = messages[0]!;
    const args = [state.at(), `${ageingMs}`, state.channel(queue), `${messages.length}`];
    for (const message of messages) {
      const place = nextPlace(message.priority);
      args.push(place + message.id, jobText(message, place, now, now));
    }
    try {
      await insertAll(queue, args);
    } catch (error) {
      return messages.map(({ id }) => ({ ok: false, id, error: error as LongshoreError }));
    }
    state.wake();
    return messages.map(({ id }) => ({ ok: true, id, duplicate: false }));
  }

  /** Answers with the indexes of the careful ones that were there. */
  async function insertAll(queue: string, args: readonly string[]): Promise<number[]> {
    const run = state.link.run('enqueueing', scripts.enqueue, state.base(queue), args);
    const knowing = state.know(queue);
    return (knowing ? (await Promise.all([run, knowing]))[0] : await run) as number[];
  }

  async function storeAny(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const results: SendResult[] = new Array(messages.length);
    const byQueue = new Map<string, Parcel[]>();
    for (const [at, message] of messages.entries()) {
      const { id, queue, body } = message;
      if (body.length * 3 > maxBodyBytes && Buffer.byteLength(body) > maxBodyBytes) {
        const got = Buffer.byteLength(body);
        const error = new LongshoreError(
          'LIMIT',
          `Expected a body of at most ${maxBodyBytes} bytes, got ${got}.`,
        );
        results[at] = { ok: false, id, error };
        continue;
      }
      const parcels = byQueue.get(queue);
      if (parcels) parcels.push({ message, at });
      else byQueue.set(queue, [{ message, at }]);
    }
    const deliveries = [...byQueue].map(([queue, parcels]) => deliver(queue, parcels, results));
    await (deliveries.length === 1 ? deliveries[0] : Promise.all(deliveries));
    return results;
  }

  async function deliver(queue: string, parcels: readonly Parcel[], results: SendResult[]): Promise<void> {
    let rest = parcels;
    // Only ids that somebody chose can be met twice.
    if (parcels.some(({ message }) => !message.hints?.isNew)) {
      try {
        for (const copy of await elsewhere(queue, parcels)) results[copy.at] = sent(copy, true);
      } catch (error) {
        return refuse(parcels, error, results); // none of them was sent
      }
      rest = parcels.filter(({ at }) => results[at] === undefined);
    }
    const parts = chunks(rest);
    if (parts.length === 1) return insert(queue, parts[0]!, results);
    for (let i = 0; i < parts.length; i += mostUnderWay)
      await Promise.all(parts.slice(i, i + mostUnderWay).map((part) => insert(queue, part, results)));
  }

  /** Those whose ids another queue holds. */
  async function elsewhere(queue: string, parcels: readonly Parcel[]): Promise<Parcel[]> {
    const chosen = parcels.filter(({ message }) => !message.hints?.isNew);
    const ids = chosen.map(({ message }) => message.id);
    const others = (await state.queues(true)).filter((other) => other !== queue);
    const flags = (await Promise.all(
      others.map((other) => state.manage('enqueueing', other, 'known', ids)),
    )) as string[];
    return chosen.filter((_, i) => flags.some((flag) => flag[i] === '1'));
  }

  async function insert(queue: string, parcels: readonly Parcel[], results: SendResult[]): Promise<void> {
    const now = clock.now();
    const args = [state.at(), `${ageingMs}`, state.channel(queue), ''];
    const careful: string[] = [];
    const carefulParcels: Parcel[] = [];
    for (const parcel of parcels) {
      const { message } = parcel;
      const { id, priority, notBefore, hints } = message;
      const waitMs = notBefore === null ? 0 : Math.max(0, Math.ceil(notBefore - now));
      const place = nextPlace(priority);
      const text = jobText(message, place, now, now + waitMs);
      if (hints?.isNew && waitMs === 0) args.push(place + id, text);
      else {
        carefulParcels.push(parcel);
        careful.push(place + id, text, `${waitMs}`, hints?.isNew ? '1' : '0');
      }
    }
    args[3] = `${parcels.length - carefulParcels.length}`;
    for (const value of careful) args.push(value);
    let found: number[];
    try {
      found = await insertAll(queue, args);
    } catch (error) {
      return refuse(parcels, error, results);
    }
    for (const parcel of parcels) results[parcel.at] = sent(parcel, false);
    for (const i of found) {
      const copy = carefulParcels[i]!;
      results[copy.at] = sent(copy, true);
    }
    state.wake();
  }

  return sharing(mostMessages, store).together;
}

/** Of one queue, ready now, with ids that nobody can have sent before, and small enough for one call. */
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

function refuse(parcels: readonly Parcel[], error: unknown, results: SendResult[]): void {
  for (const { at, message } of parcels)
    results[at] ??= { ok: false, id: message.id, error: error as LongshoreError };
}

const sent = ({ message: { id } }: Parcel, duplicate: boolean): SendResult => ({ ok: true, id, duplicate });

function chunks(parcels: readonly Parcel[]): Parcel[][] {
  const all: Parcel[][] = [];
  let chunk: Parcel[] = [];
  let bytes = 0;
  for (const parcel of parcels) {
    const { length } = parcel.message.body;
    if (chunk.length > 0 && (chunk.length === mostMessages || bytes + length > mostBytes)) {
      all.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(parcel);
    bytes += length;
  }
  if (chunk.length > 0) all.push(chunk);
  return all;
}
