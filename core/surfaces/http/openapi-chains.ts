/** What the OpenAPI document says of chains. */

import { content, count, type Json, moment, object, orNull, ref, refusals, text } from './openapi-parts.ts';
import { statuses } from './openapi-records.ts';

const parameters = [{ name: 'id', in: 'path', required: true, schema: text }];
const answer = (description: string): Json => ({ description, content: content(ref('Chain')) });

export const chainPaths: Json = {
  '/chains/{id}': {
    parameters,
    get: {
      operationId: 'getChain',
      summary: 'How far a chain is',
      responses: { 200: answer('The chain'), ...refusals(401, 404, 429, 501, 503) },
    },
  },
  '/chains/{id}/cancel': {
    parameters,
    post: {
      operationId: 'cancelChain',
      summary: 'Cancel the link of a chain that waits or runs, so that no further one begins',
      responses: {
        200: answer('It is cancelled'),
        202: answer('A link runs; its worker will abort it'),
        ...refusals(401, 404, 409, 429, 501, 503),
      },
    },
  },
};

const list = (items: Json): Json => ({ type: 'array', items });
const job = object({
  id: text,
  job: text,
  status: orNull({ enum: statuses }),
  createdAt: orNull(moment),
  finishedAt: orNull(moment),
  error: orNull(text),
});

export const chainSchemas = {
  Chain: object({
    id: text,
    state: { enum: ['running', 'completed', 'failed', 'cancelled', 'expired'] },
    link: count,
    links: list(object({ link: count, status: orNull({ enum: statuses }), jobs: list(job) })),
  }),
};
