/** `ctx.batch` and `ctx.chain` in an isolate. The items and `map` stay here: the worker pulls the items in chunks. */

import { LongshoreError } from '../../base/errors.ts';
import { assertJson } from '../../base/json.ts';
import { isIterable } from '../../base/slices.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { endNames } from '../../envelope/flow-ids.ts';
import type { Items } from '../../kernel/app/batch.ts';
import type { HandlerContext } from '../../kernel/app/job.ts';
import { type FromIsolate, mostItemChars, packError, type Question, type SentItem } from './messages.ts';

type Flows = Pick<HandlerContext, 'batch' | 'chain'>;

export interface FlowsInside {
  /** The members of the context. */
  readonly ctx: Flows;
  /** Sends the worker the next items of this batch, at most `most`. */
  give(ask: number, most: number): void;
}

interface Source {
  readonly items: Items<unknown>;
  readonly map: ((item: unknown) => unknown) | null;
  /** `null` = the worker has asked for no item yet. */
  iterator: AsyncGenerator<unknown> | null;
  reading: boolean;
}

export function createFlowsInside(
  context: () => JobContext,
  hasEnded: () => boolean,
  send: (message: FromIsolate) => void,
  ask: (question: Question, started?: (number: number) => void) => Promise<unknown>,
): FlowsInside {
  const sources = new Map<number, Source>();

  const asked = async (question: Question, started?: (number: number) => void): Promise<unknown> => {
    if (hasEnded())
      throw new LongshoreError(
        'LEASE_LOST',
        'ctx.batch() or ctx.chain() was called after the attempt had ended.',
      );
    return ask(question, started);
  };

  async function batch(name: string, items: Items<unknown>, given: object): Promise<unknown> {
    const { map, ...rest }: { map?: unknown } & Record<string, unknown> = { context: context(), ...given };
    const maps = typeof map === 'function';
    const options: Record<string, unknown> = map === undefined || maps ? rest : { ...rest, map };
    for (const member of ['job', ...endNames])
      if (member in options) options[member] = named(options[member]);
    const source: Source = {
      ...{ items, map: maps ? (map as Source['map']) : null },
      ...{ iterator: null, reading: false },
    };
    let number = 0;
    try {
      const wrong = isIterable(items) ? {} : { items };
      return await asked({ verb: 'batch', name, options, maps, ...wrong }, (asks) => {
        number = asks;
        sources.set(number, source);
      });
    } finally {
      sources.delete(number);
      const closed = source.iterator?.return(undefined);
      if (source.reading)
        closed?.catch(() => {}); // not awaited: the attempt is over, and the next item may never come
      else await closed;
    }
  }

  async function give(ask: number, most: number): Promise<void> {
    const source = sources.get(ask);
    if (!source || source.reading || hasEnded()) return;
    source.reading = true;
    const chunk = await read(source, most);
    source.reading = false;
    if (hasEnded()) return;
    try {
      send({ type: 'items', ask, ...chunk });
    } catch (error) {
      const why = new LongshoreError(
        'OPTION',
        `Expected options of plain data, got a value that cannot leave the isolate: ${(error as Error).message}`,
      );
      send({ type: 'items', ask, items: [], done: false, error: packError(why) });
    }
  }

  async function chain(links: unknown, payload: unknown, options: object): Promise<unknown> {
    if (payload !== undefined) assertJson(payload, 'payload'); // before a clone makes class instances plain objects
    const packed = Array.isArray(links)
      ? links.map((link) => (Array.isArray(link) ? link.map(packLink) : packLink(link)))
      : links;
    return asked({ verb: 'chain', links: packed, payload, options: { context: context(), ...options } });
  }

  return {
    give: (ask, most) => void give(ask, most),
    ctx: { batch: batch as Flows['batch'], chain: chain as unknown as Flows['chain'] },
  };
}

type Chunk = Pick<Extract<FromIsolate, { type: 'items' }>, 'items' | 'done' | 'error'>;

async function read(source: Source, most: number): Promise<Chunk> {
  const items: SentItem[] = [];
  try {
    source.iterator ??= each(source.items);
    for (let chars = 0; items.length < most && chars < mostItemChars; ) {
      const { done, value } = await source.iterator.next();
      if (done) return { items, done: true, error: null };
      const item = itemOf(value, source.map);
      items.push(item);
      chars += item.payload?.length ?? 0;
    }
  } catch (error) {
    return { items, done: false, error: packError(error) };
  }
  return { items, done: false, error: null };
}

/** An invalid item is refused when its turn comes, as in a handler outside of an isolate. */
function itemOf(item: unknown, map: Source['map']): SentItem {
  try {
    const made = map ? (map(item) as Partial<Record<'job' | 'payload' | 'options', unknown>>) : null;
    const payload = made ? made.payload : item;
    if (payload !== undefined) assertJson(payload, 'payload');
    const name = (made?.job as { name?: unknown } | null | undefined)?.name;
    return {
      job: typeof name === 'string' ? name : null,
      payload: payload === undefined ? null : JSON.stringify(payload),
      options: made?.options,
      error: null,
    };
  } catch (error) {
    return { job: null, payload: null, options: undefined, error: packError(error) };
  }
}

async function* each(items: Items<unknown>): AsyncGenerator<unknown> {
  yield* items;
}

/** Replaces a job by its name: the worker looks it up in its app. */
function named(job: unknown): unknown {
  const name = (job as { name?: unknown } | null | undefined)?.name;
  return typeof job === 'object' && typeof name === 'string' ? { name } : job;
}

function packLink(link: unknown): unknown {
  if (typeof link === 'object' && link !== null && 'job' in link) return { ...link, job: named(link.job) };
  return named(link);
}
