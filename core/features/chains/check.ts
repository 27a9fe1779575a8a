/** Checks a chain before anything is sent. */

import { config, shown } from '../../base/errors.ts';
import { hint } from '../../base/nearest.ts';
import { priorityOf } from '../../base/priority.ts';
import { faultOf } from '../../base/text.ts';
import type { ChainedJob, ChainLink } from '../../envelope/chain.ts';
import { chainPattern, mostLinks } from '../../envelope/flow-ids.ts';
import type { ChainOptions, JobWithOptions, LinkOptions } from '../../kernel/app/chain.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { groupOf, scheduleOf, wrongOption } from '../../kernel/enqueue/prepare.ts';
import { queueOf } from '../../kernel/enqueue/queue-of.ts';
import { checkChild, storeOf } from '../batches/check.ts';

export type ChainClient = Pick<Client, 'app' | 'backend' | 'stores' | 'name'>;

const chainOptions = { id: true, context: true, tx: true } satisfies Record<keyof ChainOptions, true>;
const linkOptions = {
  queue: true,
  priority: true,
  delayMs: true,
  maxRetries: true,
  group: true,
  name: true,
} satisfies Record<keyof LinkOptions, true>;

/** The links as they are sent. Throws `OPTION`, `CONFIG` or `UNKNOWN_JOB`. */
export function checkedLinks(
  client: ChainClient,
  links: readonly unknown[],
  options: ChainOptions,
): ChainLink[] {
  only('chain()', options, chainOptions);
  const { id } = options;
  if (id !== undefined && !(typeof id === 'string' && chainPattern.test(id)))
    throw wrongOption(`the id of a chain to match ${chainPattern}, got ${shown(id)}`);
  const checked = listOf('a chain', 'links', links).map((link) =>
    Array.isArray(link)
      ? listOf('a link of a chain', 'jobs', link).map((one) => chainedJob(client, one))
      : chainedJob(client, link),
  );
  if (!checked.some(Array.isArray)) return checked;
  storeOf(client);
  if (!client.stores.steps)
    throw config(
      `Backend "${client.backend.name}" keeps no results, but a link after several jobs needs them: give it a store, for example sqliteStore().`,
    );
  if (options.tx && Array.isArray(checked[0]))
    throw wrongOption('the first link of a chain with tx to be one job, got several at the same time');
  return checked;
}

function listOf(what: string, of: string, list: unknown): readonly unknown[] {
  if (Array.isArray(list) && list.length >= 1 && list.length <= mostLinks) return list;
  const got = Array.isArray(list) ? `${list.length}` : shown(list);
  throw wrongOption(`${what} to be a list of 1 to ${mostLinks} ${of}, got ${got}`);
}

function chainedJob(client: ChainClient, link: unknown): ChainedJob {
  const { job: given, options = {} }: Partial<JobWithOptions> = isWithOptions(link)
    ? link
    : { job: link as Job };
  const job = given as Job;
  checkChild(client, job, 'chain');
  only(`a link of chain()`, options, linkOptions);
  const { queue, priority, delayMs, maxRetries, group, name } = options;
  queueOf(client, job, options);
  groupOf(options);
  scheduleOf(delayMs === undefined ? {} : { delayMs }, client.app.clock.now(), client.backend.limits);
  if (maxRetries !== undefined && !(Number.isSafeInteger(maxRetries) && maxRetries >= 0))
    throw wrongOption(`maxRetries to be an integer of 0 or more, got ${shown(maxRetries)}`);
  const fault = name === undefined ? null : faultOf(name);
  if (fault !== null) throw wrongOption(`the name of a link ${fault}`);
  return {
    job: job.name,
    ...(queue !== undefined && { queue }),
    ...(priority !== undefined && { priority: priorityOf(priority) }),
    ...(delayMs !== undefined && { delayMs: Math.ceil(delayMs) }),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(group != null && { group }),
    ...(name !== undefined && { name }),
  };
}

const isWithOptions = (link: unknown): link is JobWithOptions =>
  typeof link === 'object' && link !== null && 'job' in link;

function only(whose: string, given: object, names: Readonly<Record<string, true>>): void {
  for (const name in given)
    if (!Object.hasOwn(names, name))
      throw wrongOption(`an option of ${whose}, got ${shown(name)}.${hint(name, Object.keys(names))}`);
}
