/** `ctx.batch` of a handler in an isolate. The items and `map` stay there: the worker pulls the items in chunks, checks and sends them. */

import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import { isIterable } from '../../base/slices.ts';
import { isThrown, packError, type Thrown, unpackError } from '../../base/thrown.ts';
import { endNames } from '../../envelope/flow-ids.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Items } from '../../kernel/app/batch.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { IsolatedMember } from '../../kernel/attempt/context.ts';

/** The most items in one message. The worker holds no more of a batch at a time. */
const mostItems = 100;
/** Characters of the payloads in one message, as JSON. Only the last payload may exceed it. */
export const mostItemChars = 262_144;

/** One item of a batch on its way to the worker. */
interface SentItem {
  /** The name of its job; `null` = the job of the batch. */
  readonly job: string | null;
  /** JSON; `null` = nothing. */
  readonly payload: string | null;
  readonly options: unknown;
  /** Why the item cannot be sent; `null` = it can. */
  readonly error: Thrown | null;
}

interface Chunk {
  readonly items: readonly SentItem[];
  /** These are the last ones. */
  readonly done: boolean;
  /** The iterable has thrown this. */
  readonly error: Thrown | null;
}

type Options = Record<string, unknown>;

export const isolatedBatch: IsolatedMember = {
  /** Each open batch may hold a chunk of items in the worker's memory. */
  most: 100,

  send(ctx, name: string, items: Items<unknown>, given: object) {
    const { map, ...rest }: { map?: unknown } & Options = { context: ctx.context, ...given };
    const maps = typeof map === 'function';
    const options = withJobs(map === undefined || maps ? rest : { ...rest, map }, nameOf);
    // Items that are not iterable cross as they are, and the worker refuses them.
    const wrong = isIterable(items) ? [] : [items];
    const source = createSource(items, maps ? (map as Map) : null);
    return {
      args: [name, options, maps, ...wrong],
      work: (most) => source.read(most as number),
      end: source.end,
    };
  },

  receive({ app, work }, name: string, given: Options, maps: boolean, ...wrong: unknown[]) {
    const options = withJobs(given, (job) => jobNamed(app, job));
    const { chunkSize = mostItems } = options;
    const items = itemsOf(work, Math.min(Number(chunkSize), mostItems));
    if (maps) options.map = (item: SentItem) => childOf(app, item);
    return [name, wrong.length > 0 ? wrong[0] : maps ? items : payloadsOf(items), options];
  },
};

export const isolatedWaitForBatch: IsolatedMember = {
  send: (_, batch: unknown, options: unknown) => ({
    args: [
      typeof batch === 'object' && batch !== null ? { id: (batch as { id?: unknown }).id } : batch,
      options,
    ],
  }),
};

/** A job crosses by its name. */
export function nameOf(job: unknown): unknown {
  const name = (job as { name?: unknown } | null | undefined)?.name;
  return typeof job === 'object' && typeof name === 'string' ? { name } : job;
}

/** Returns an unknown job unchanged: the call that takes it refuses it, as for a handler outside of an isolate. */
export function jobNamed(app: App, given: unknown): Job {
  const name = (given as { name?: unknown } | null | undefined)?.name;
  return (app.jobs.get(name as string) ?? given) as Job;
}

function withJobs(options: Options, change: (job: unknown) => unknown): Options {
  const jobs = ['job', ...endNames].filter((member) => member in options);
  return { ...options, ...Object.fromEntries(jobs.map((member) => [member, change(options[member])])) };
}

type Map = (item: unknown) => unknown;

/** The items in the isolate, read when the worker pulls them. */
function createSource(items: Items<unknown>, map: Map | null) {
  let iterator: AsyncGenerator<unknown> | null = null;
  let isReading = false;

  async function chunkOf(most: number): Promise<Chunk> {
    const chunk: SentItem[] = [];
    try {
      iterator ??= each(items);
      for (let chars = 0; chunk.length < most && chars < mostItemChars; ) {
        const { done, value } = await iterator.next();
        if (done) return { items: chunk, done, error: null };
        const item = itemOf(value, map);
        chunk.push(item);
        chars += item.payload?.length ?? 0;
      }
    } catch (error) {
      return { items: chunk, done: false, error: packError(error) };
    }
    return { items: chunk, done: false, error: null };
  }

  return {
    async read(most: number): Promise<Chunk> {
      isReading = true;
      const chunk = await chunkOf(most);
      isReading = false;
      return chunk;
    },
    async end(): Promise<void> {
      const closed = iterator?.return(undefined);
      if (isReading)
        closed?.catch(() => {}); // not awaited: the attempt is over, and the next item may never come
      else await closed;
    },
  };
}

/** An invalid item is refused when its turn comes, as in a handler outside of an isolate. */
function itemOf(item: unknown, map: Map | null): SentItem {
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

/** Pulls the next chunk only when the current one is used up, so a slow queue slows down the handler's stream. */
async function* itemsOf(pull: (most: number) => Promise<unknown>, most: number): AsyncGenerator<SentItem> {
  for (;;) {
    const chunk = await pull(most);
    if (!isChunk(chunk)) throw new LongshoreError('OPTION', 'Expected a chunk of items from the isolate.');
    const { items, done, error } = chunk;
    yield* items;
    if (error) throw unpackError(error);
    if (done) return;
  }
}

async function* payloadsOf(items: AsyncGenerator<SentItem>): AsyncGenerator<unknown> {
  let number = 0;
  for await (const item of items) {
    if (item.error) throw refusedAs(number, unpackError(item.error));
    yield payloadOf(item);
    number++;
  }
}

function childOf(app: App, item: SentItem): object {
  if (item.error) throw unpackError(item.error);
  const job = item.job === null ? undefined : jobNamed(app, { name: item.job });
  return { job, payload: payloadOf(item), options: item.options };
}

const payloadOf = ({ payload }: SentItem): unknown => (payload === null ? undefined : JSON.parse(payload));

function refusedAs(number: number, cause: unknown): LongshoreError {
  const code = cause instanceof LongshoreError ? cause.code : 'PAYLOAD';
  const why = toError(cause).message;
  return new LongshoreError(code, `item ${number} (counted from 0) was refused: ${why}`, { cause });
}

/** Does not parse the payloads: each is parsed when its turn comes. */
export function isChunk(data: unknown): data is Chunk {
  const { items, done, error } = (data ?? {}) as Partial<Record<keyof Chunk, unknown>>;
  if (!Array.isArray(items) || items.length > mostItems) return false;
  let chars = 0;
  for (const item of items) {
    if (chars >= mostItemChars || !isItem(item)) return false;
    chars += item.payload?.length ?? 0;
  }
  return typeof done === 'boolean' && (error === null || isThrown(error));
}

function isItem(data: unknown): data is SentItem {
  const { job, payload, error } = (data ?? {}) as Partial<Record<keyof SentItem, unknown>>;
  const areTexts = [job, payload].every((text) => text === null || typeof text === 'string');
  return areTexts && (error === null || isThrown(error));
}
