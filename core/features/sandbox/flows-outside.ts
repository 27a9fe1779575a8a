/** The worker's side of batches and chains of an isolated handler: it looks up the jobs by name, checks and sends them. */

import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { endNames } from '../../envelope/flow-ids.ts';
import type { App } from '../../kernel/app/app.ts';
import type { HandlerContext, Job } from '../../kernel/app/job.ts';
import type { Isolate } from './isolate.ts';
import { type FlowQuestion, type FromIsolate, mostItems, type SentItem, unpackError } from './messages.ts';
import { createOpen } from './open.ts';
import { createReplies } from './replies.ts';

/** Open batches per attempt. Each may hold a chunk of items in the worker's memory. */
const mostBatches = 100;

type Chunk = Extract<FromIsolate, { type: 'items' }>;
type Send = (...given: readonly unknown[]) => Promise<unknown>;

/** Returns an unknown job unchanged: the call that takes it refuses it, as for a handler outside of an isolate. */
export function jobNamed(app: App, given: unknown): Job {
  const name = (given as { name?: unknown } | null | undefined)?.name;
  return (app.jobs.get(name as string) ?? given) as Job;
}

export function createFlowsOutside(app: App, isolate: Isolate, ctx: HandlerContext) {
  const open = createOpen(mostBatches, 'batches');
  const pulls = createReplies<Chunk>(isolate);

  /** Pulls the next chunk only when the current one is used up, so a slow queue slows down the handler's stream. */
  async function* itemsOf(ask: number, most: number): AsyncGenerator<SentItem> {
    for (;;) {
      const { items, done, error } = await pulls.to({ type: 'pull', ask, most });
      yield* items;
      if (error) throw unpackError(error);
      if (done) return;
    }
  }

  async function* payloadsOf(ask: number, most: number): AsyncGenerator<unknown> {
    let number = 0;
    for await (const item of itemsOf(ask, most)) {
      if (item.error) throw refusedAs(number, unpackError(item.error));
      yield payloadOf(item);
      number++;
    }
  }

  function childOf(item: SentItem): object {
    if (item.error) throw unpackError(item.error);
    const job = item.job === null ? undefined : jobNamed(app, { name: item.job });
    return { job, payload: payloadOf(item), options: item.options };
  }

  function batch(ask: number, question: Extract<FlowQuestion, { verb: 'batch' }>): Promise<unknown> {
    const options: Record<string, unknown> = { ...question.options };
    for (const member of ['job', ...endNames])
      if (member in options) options[member] = jobNamed(app, options[member]);
    const { chunkSize = mostItems } = options;
    const most = Math.min(Number(chunkSize), mostItems);
    if (question.maps) options.map = childOf;
    const items = 'items' in question ? question.items : (question.maps ? itemsOf : payloadsOf)(ask, most);
    return (ctx.batch as unknown as Send)(question.name, items, options);
  }

  function chain({ links, payload, options }: Extract<FlowQuestion, { verb: 'chain' }>): Promise<unknown> {
    const one = (link: unknown) =>
      typeof link === 'object' && link !== null && 'job' in link
        ? { ...link, job: jobNamed(app, link.job) }
        : jobNamed(app, link);
    const named = Array.isArray(links)
      ? links.map((link) => (Array.isArray(link) ? link.map(one) : one(link)))
      : links;
    return (ctx.chain as unknown as Send)(named, payload, options);
  }

  return {
    async grant(ask: number, question: FlowQuestion): Promise<unknown> {
      return question.verb === 'chain' ? chain(question) : open(ask, () => batch(ask, question));
    },
    came: (chunk: Chunk): void => pulls.take(chunk.ask)?.resolve(chunk),
    end: pulls.end,
  };
}

const payloadOf = ({ payload }: SentItem): unknown => (payload === null ? undefined : JSON.parse(payload));

function refusedAs(number: number, cause: unknown): LongshoreError {
  const code = cause instanceof LongshoreError ? cause.code : 'PAYLOAD';
  const why = toError(cause).message;
  return new LongshoreError(code, `item ${number} (counted from 0) was refused: ${why}`, { cause });
}
