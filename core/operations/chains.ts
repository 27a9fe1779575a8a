import { chainPattern } from '../envelope/flow-ids.ts';
import type { Chain } from '../kernel/app/chain.ts';
import { statuses } from '../kit/records/partitions.ts';
import { change, look, mustExist, type Resource } from './operation.ts';
import { count, list, moment, named, object, orNull, text } from './shapes.ts';

const status = orNull({ enum: statuses });

/** The output of a job is in its own record, not here. */
const job = object({
  id: text,
  job: text,
  status,
  createdAt: orNull(moment),
  finishedAt: orNull(moment),
  error: orNull(text),
});

const chain: Resource<Chain> = {
  noun: 'chain',
  parameter: 'id',
  text: 'id of a chain, whole',
  check: (client, id) => mustExist(chain, client, id),
  find: async ({ chains }, id) => (chainPattern.test(id) ? chains.get(id) : null),
  owners({ links }) {
    const jobs = links.flatMap((link) => link.jobs);
    if (jobs.every(({ record }) => record === null)) return null;
    return jobs.map(({ job, record }) => ({ job, ...(record && { tenantId: record.tenantId }) }));
  },
  shape: named(
    'Chain',
    object({
      id: text,
      state: { enum: ['running', 'completed', 'failed', 'cancelled', 'expired'] },
      link: count,
      links: list(object({ link: count, status, jobs: list(job) })),
    }),
  ),
  view: ({ links, ...rest }) => ({
    ...rest,
    links: links.map((link) => ({
      ...link,
      jobs: link.jobs.map(({ id, job, record }) => {
        const none = { status: null, createdAt: null, finishedAt: null, error: null };
        return { ...none, ...record, id, job };
      }),
    })),
  }),
  origin: 'chain() has told it',
  notKept: [
    501,
    'Expected a queue that keeps records of its jobs, got one that does not. Nothing is known of chains there.',
  ],
};

export const chains = {
  get: look({
    summary: 'How far a chain is',
    subject: chain,
    http: { route: 'GET /chains/{id}', operationId: 'getChain' },
    run: (client, id: string) => client.chains.get(id),
  }),
  cancel: change({
    action: 'chain.cancel',
    summary: 'Cancel the link of a chain that waits or runs, so that no further one begins',
    subject: chain,
    http: { route: 'POST /chains/{id}/cancel', operationId: 'cancelChain' },
    run: (client, id: string) => client.chains.cancel(id),
    done: 'Cancelled: no further link begins.',
    later: 'The worker of the link that runs is told to abort it, and may finish first.',
    nothing: 'The chain has ended: there is nothing to cancel any more.',
    returned: (result) => result as Exclude<typeof result, 'unknown'>,
  }),
};
