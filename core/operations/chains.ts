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
  text: 'whole id of a chain',
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
  origin: 'chain() returned it',
  notKept: [501, 'This queue keeps no records of jobs, so it cannot show chains.'],
};

export const chains = {
  get: look({
    summary: 'Progress of a chain',
    subject: chain,
    http: { route: 'GET /chains/{id}', operationId: 'getChain' },
    run: (client, id: string) => client.chains.get(id),
  }),
  cancel: change({
    action: 'chain.cancel',
    summary: 'Cancel a chain: the current link is cancelled, and no further link begins',
    subject: chain,
    http: { route: 'POST /chains/{id}/cancel', operationId: 'cancelChain' },
    run: (client, id: string) => client.chains.cancel(id),
    done: 'Cancelled: no further link begins.',
    later: 'The running link is asked to abort, and may finish first.',
    nothing: 'The chain has ended, so it cannot be cancelled.',
    returned: (result) => result as Exclude<typeof result, 'unknown'>,
  }),
};
