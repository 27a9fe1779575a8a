/**
 * Turns messages of other programs into jobs: events of S3, notifications of SNS, or others that a rule describes. They carry no signature,
 * so the queue's access policy must limit who can write to it. The receiver signs the job that a rule makes; from then on it is a job
 * like any other. A message without a matching rule is not changed, and is rejected because it has no signature.
 */

import { config, shown } from '../../base/errors.ts';
import type { Foreign } from '../../contract/foreign.ts';
import type { App } from '../app/app.ts';
import type { ForeignRule, SendersOf } from './foreign-job.ts';

/** Throws `CONFIG` for an invalid rule. */
export function foreign<Body, Input>(app: App, rule: ForeignRule<Body, Input>): Foreign {
  const { from, senders: allowed, job } = rule;
  const known = typeof from === 'string' && Object.hasOwn(senders, from) ? senders[from] : null;
  const sendersOf: SendersOf | null = typeof from === 'function' ? (body) => [from(body)] : known;
  if (!sendersOf) {
    throw config(`foreign() expects from to be s3, sns, eventbridge or a function, got ${shown(from)}.`);
  }
  if (
    !Array.isArray(allowed) ||
    !allowed.every((sender) => typeof sender === 'string') ||
    allowed.length === 0
  ) {
    throw config(`foreign() expects senders to be a list of texts, got ${shown(allowed)}.`);
  }
  if (app.jobs.get(job.name) !== job) {
    throw config(`foreign() expects a job of the app, got "${job.name}". Add it to createApp({ jobs }).`);
  }

  // Loaded with the first message, because few functions have such a queue.
  return async (message) => (await import('./foreign-job.ts')).foreignJob(app, rule, sendersOf, message);
}

interface Known {
  readonly Records?: readonly {
    readonly eventSource?: unknown;
    readonly s3?: { readonly bucket?: { arn?: unknown } };
  }[];
  readonly Type?: unknown;
  readonly TopicArn?: unknown;
  readonly 'detail-type'?: unknown;
  readonly source?: unknown;
}

const senders: Readonly<Record<'s3' | 'sns' | 'eventbridge', SendersOf>> = {
  s3: (body) =>
    ((body as Known).Records ?? []).map(({ eventSource, s3 }) =>
      eventSource === 'aws:s3' ? s3?.bucket?.arn : null,
    ),
  sns: (body) => ((body as Known).Type === 'Notification' ? [(body as Known).TopicArn] : []),
  eventbridge: (body) => ('detail-type' in (body as Known) ? [(body as Known).source] : []),
};
