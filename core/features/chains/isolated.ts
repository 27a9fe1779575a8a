/** `ctx.chain` of a handler in an isolate: the jobs of its links cross by their names. */

import { assertJson } from '../../base/json.ts';
import type { IsolatedMember } from '../../kernel/attempt/context.ts';
import { jobNamed, nameOf } from '../batches/isolated.ts';

export const isolatedChain: IsolatedMember = {
  send(ctx, links: unknown, payload: unknown, options: object) {
    if (payload !== undefined) assertJson(payload, 'payload'); // before a clone makes class instances plain objects
    return { args: [withJobs(links, nameOf), payload, { context: ctx.context, ...options }] };
  },
  receive: ({ app }, links: unknown, ...rest: unknown[]) => [
    withJobs(links, (job) => jobNamed(app, job)),
    ...rest,
  ],
};

function withJobs(links: unknown, change: (job: unknown) => unknown): unknown {
  const changed = (link: unknown): unknown =>
    typeof link === 'object' && link !== null && 'job' in link
      ? { ...link, job: change(link.job) }
      : change(link);
  return Array.isArray(links)
    ? links.map((link) => (Array.isArray(link) ? link.map(changed) : changed(link)))
    : links;
}
