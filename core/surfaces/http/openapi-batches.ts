/** What the OpenAPI document says of batches. */

import { content, count, type Json, moment, object, orNull, ref, refusals, text } from './openapi-parts.ts';

const parameters = [{ name: 'id', in: 'path', required: true, schema: text }];

const answer = (description: string, schema = 'Batch'): Json => ({
  200: { description, content: content(ref(schema)) },
});

export const batchPaths: Json = {
  '/batches/{id}': {
    parameters,
    get: {
      operationId: 'getBatch',
      summary: 'How far a batch is',
      responses: { ...answer('The batch'), ...refusals(401, 403, 404, 429, 501, 503) },
    },
  },
  '/batches/{id}/cancel': {
    parameters,
    post: {
      operationId: 'cancelBatch',
      summary: 'Cancel the children of a batch that have not ended',
      responses: {
        ...answer('It is cancelled; children that run are aborted'),
        ...refusals(401, 403, 404, 409, 429, 501, 503),
      },
    },
  },
  '/batches/{id}/retry': {
    parameters,
    post: {
      operationId: 'retryBatch',
      summary: 'Run the children of a batch again that are dead letters',
      responses: {
        ...answer('The batch, and how many of its children run again', 'RetriedBatch'),
        ...refusals(401, 403, 404, 409, 429, 501, 503),
      },
    },
  },
};

const number = { type: 'number', minimum: 0 };

const batch = {
  id: text,
  name: text,
  tenantId: orNull(text),
  state: { enum: ['sending', 'running', 'cancelling', 'complete', 'cancelled'] },
  outcome: { enum: ['succeeded', 'failed', 'cancelled', null] },
  total: orNull(count),
  sent: count,
  succeeded: count,
  failed: count,
  percent: orNull(number),
  perSecond: orNull(number),
  etaMs: orNull(count),
  createdAt: moment,
  changedAt: moment,
  completedAt: orNull(moment),
};

export const batchSchemas = { Batch: object(batch), RetriedBatch: object({ ...batch, retried: count }) };
