/** Sends the items of a batch in chunks. The store knows the progress, so a repeated call continues where a killed one stopped. */

import { LongshoreError, shown } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { isIterable } from '../../base/slices.ts';
import type { BatchState, BatchStore } from '../../contract/derived/batches.ts';
import { childId, type EndName, endNames } from '../../envelope/flow-ids.ts';
import type { Batch, Items } from '../../kernel/app/batch.ts';
import { currentContext } from '../../kernel/app/context.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { EnqueueOptions } from '../../kernel/app/options.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { FlowMembers } from '../../kernel/enqueue/draft.ts';
import { enqueueEach } from '../../kernel/enqueue/enqueue.ts';
import { prepare, wrongOption } from '../../kernel/enqueue/prepare.ts';
import { cancelChildren } from './cancel.ts';
import { type AnyBatchOptions, checkBatch, checkChild, storeOf } from './check.ts';
import { complete } from './complete.ts';
import { type Plan, planOf, planText } from './plan.ts';
import { mostResults } from './results.ts';
import { viewOf } from './view.ts';

type BatchClient = Pick<Client, 'app' | 'backend' | 'stores' | 'name'>;

interface Made {
  readonly job: Job;
  readonly payload: unknown;
  readonly options?: EnqueueOptions;
}

export async function sendBatch(
  client: BatchClient,
  name: string,
  items: Items<unknown>,
  options: AnyBatchOptions,
): Promise<Batch> {
  const { app } = client;
  const store = storeOf(client);
  await checkBatch(client, name, options);
  if (!isIterable(items))
    throw wrongOption(`items of batch "${name}" to be an iterable or a stream, got ${shown(items)}`);
  const source = sourceOf(items);
  try {
    const known = options.id === undefined ? null : await store.get(options.id);
    if (known) checkName(known, name);
    if (known?.sealed) return ended(client, known);
    const first = await source
      .next()
      .catch((error) => stopped(known ? known.id : null, known?.sent ?? 0, error));
    if (first.done && !known)
      throw wrongOption(
        `batch "${name}" to have at least one item, got none. Check this before you call batch()`,
      );
    const id = options.id ?? app.newId();
    const sender = app.newId();
    const context = options.context ?? currentContext() ?? null;
    const plan = planText(app, id, planFor(name, options, context));
    const state = await store.open({ id, plan, sender, planned: 0 });
    checkName(state, name);
    if (state.sealed) return ended(client, state);
    const sealed = await new Sending(client, store, state, sender, options).all(first, source);
    return viewOf(sealed, app.clock.now());
  } finally {
    await source.return?.(undefined);
  }
}

/** The batch was sent before, so nothing is sent. */
async function ended(client: BatchClient, state: BatchState): Promise<Batch> {
  if (state.cancelledAt !== null) throw cancelled(state.id, state.sent);
  if (state.completedAt !== null && !state.called) await complete(client, state.id);
  return viewOf(state, client.app.clock.now());
}

function planFor(name: string, options: AnyBatchOptions, context: Plan['context']): Plan {
  const given = endNames.filter((end) => options[end] !== undefined);
  const calls: Partial<Record<EndName, string>> = Object.fromEntries(
    given.map((end) => [end, options[end]!.name]),
  );
  const { allowFailures = 0, keepResults = false, resultsPayload } = options;
  const results = keepResults ? 'kept' : options.onResults ? 'until' : null;
  return {
    ...{ name, calls, allowFailures, context },
    ...(results && { results }),
    ...(resultsPayload && { with: resultsPayload }),
  };
}

class Sending {
  readonly #client: BatchClient;
  readonly #store: BatchStore;
  readonly #state: BatchState;
  readonly #sender: string;
  readonly #options: AnyBatchOptions;
  readonly #members: FlowMembers;

  constructor(
    client: BatchClient,
    store: BatchStore,
    state: BatchState,
    sender: string,
    options: AnyBatchOptions,
  ) {
    this.#client = client;
    this.#store = store;
    this.#state = state;
    this.#sender = sender;
    this.#options = options;
    this.#members = {
      ...(planOf(state).results && { results: true }),
      ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
    };
  }

  async all(first: IteratorResult<unknown>, rest: AsyncIterator<unknown>): Promise<BatchState> {
    const { id, sent: done, planned } = this.#state;
    const { chunkSize = 100 } = this.#options;
    let sent = done;
    let number = 0;
    let chunk: unknown[] = [];
    let isSending = false;
    const send = async () => {
      isSending = true;
      await this.#send(chunk, sent);
      isSending = false;
      sent += chunk.length;
      chunk = [];
    };
    try {
      for (let next = first; !next.done; next = await rest.next()) {
        if (number++ < done) continue;
        if (this.#members.results && number > mostResults)
          throw wrongOption(
            `a batch whose results are kept to have at most ${mostResults} items, got more. Send several, or keep the results elsewhere`,
          );
        chunk.push(next.value);
        if (chunk.length === chunkSize) await send();
      }
      if (number < planned)
        throw new Error(
          `the items differ from the first call: ${planned} may be in the queue, now there are only ${number}`,
        );
      if (chunk.length > 0) await send();
      const sealed = await this.#progress(sent, sent, true);
      if (sealed.completedAt !== null) await complete(this.#client, id);
      return sealed;
    } catch (error) {
      // It is unknown how much of the current chunk has arrived. The next call finds out.
      if (!isSending) await this.#progress(sent, Math.max(sent, planned), false).catch(() => {});
      return stopped(id, sent, error);
    }
  }

  async #send(chunk: readonly unknown[], from: number): Promise<void> {
    const { id, planned } = this.#state;
    const to = from + chunk.length;
    await this.#progress(from, Math.max(to, planned), false);
    // An earlier call may have sent these items without recording it. The queue may have deleted a child that has ended since, so send only
    // open ones.
    const open = from < planned ? new Set(await this.#store.unended(id, from, to - from)) : null;
    const numbers = chunk.map((_, i) => from + i).filter((number) => open === null || open.has(number));
    const results = await enqueueEach(
      this.#client,
      { job: (this.#options.job as Job | undefined)?.name ?? null, queue: null, count: numbers.length },
      this.#options.context ?? currentContext(),
      (i, uploads) => {
        const number = numbers[i]!;
        const child = this.#childOf(chunk[number - from], number);
        const members = this.#members;
        return prepare(this.#client, { ...child, uploads, id: childId(id, number), members });
      },
    );
    const wrong = results.findIndex((result) => !result.ok);
    const result = results[wrong];
    if (result && !result.ok)
      throw new LongshoreError(
        result.error.code,
        `item ${numbers[wrong]} (counted from 0) was refused: ${result.error.message}`,
        { cause: result.error },
      );
  }

  #childOf(item: unknown, number: number): Required<Made> {
    const { map, job, options } = this.#options;
    const made = (map ? (map as (item: unknown) => unknown)(item) : { job, payload: item, options }) as Made;
    if (map) checkChild(this.#client, made?.job);
    const own = { ...made.options };
    if (own.unique || own.debounce || own.tx || own.backend || own.context)
      throw wrongOption(
        'no unique, debounce, tx, backend or context for a child: they apply to a whole batch',
      );
    // A queue without records does not recognise a second copy of an id.
    if (this.#client.stores.records.writer && !made.job.keyOf && own.idempotencyKey === undefined)
      Object.assign(own, { idempotencyKey: childId(this.#state.id, number) });
    return { ...made, options: own };
  }

  async #progress(sent: number, planned: number, sealed: boolean): Promise<BatchState> {
    const { id } = this.#state;
    const state = await this.#store.sent(id, this.#sender, { sent, planned, sealed });
    if (state) return state;
    const now = await this.#store.get(id);
    if (now?.cancelledAt != null) {
      await cancelChildren(this.#client, id);
      throw cancelled(id, sent);
    }
    throw new Error('another call has taken it over');
  }
}

const cancelled = (id: string, sent: number): LongshoreError =>
  new LongshoreError('CANCELLED', `Batch ${id} was cancelled, after ${sent} of its items were sent.`);

/** @param id `null` = nothing was stored yet */
function stopped(id: string | null, sent: number, cause: unknown): never {
  if (cause instanceof LongshoreError && cause.code === 'CANCELLED') throw cause;
  const why = toError(cause).message.replace(/\.$/, '');
  const rest =
    id === null
      ? 'Nothing was sent.'
      : `${sent} of its items were sent. Call batch() again with id "${id}" to go on, or client.batches.cancel("${id}").`;
  throw new LongshoreError('BATCH', `The batch has stopped: ${why}. ${rest}`, { cause });
}

function checkName(state: BatchState, name: string): void {
  const known = planOf(state).name;
  if (known === name) return;
  throw wrongOption(`batch ${state.id} to keep its name ${shown(known)}, got ${shown(name)}`);
}

async function* sourceOf(items: Items<unknown>): AsyncGenerator<unknown> {
  yield* items;
}
