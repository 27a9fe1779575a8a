/** What the OpenAPI document says of a job that is there. */

import { count, type Json, moment, object, orNull, text } from '../../operations/shapes.ts';
import { content, prioritySchema, ref, refusals } from './openapi-parts.ts';

const id = [{ name: 'id', in: 'path', required: true, schema: text }];
const done = (description: string): Json => ({ description, content: content(ref('Done')) });

export const recordPaths: Json = {
  '/jobs/{id}': {
    parameters: id,
    get: {
      operationId: 'getJob',
      summary: 'Status, progress and attempts of a job',
      responses: {
        200: { description: 'The record', content: content(ref('Job')) },
        ...refusals(401, 404, 429, 503),
      },
    },
    patch: {
      operationId: 'changeJob',
      summary: 'Change a job that waits; what is left out stays',
      requestBody: { required: true, content: content(ref('Change')) },
      responses: {
        200: done('Changed'),
        ...refusals(400, 401, 404, 409, 413, 415, 422, 429, 501, 503),
      },
    },
    delete: {
      operationId: 'cancelJob',
      summary: 'Cancel a job',
      responses: {
        200: { description: 'Cancelled before it ran', content: content(ref('Cancelled')) },
        202: { description: 'It runs, and its worker will abort it', content: content(ref('Cancelled')) },
        ...refusals(401, 404, 409, 429, 503),
      },
    },
  },
  '/jobs/{id}/result': {
    parameters: id,
    get: {
      operationId: 'getResult',
      summary: 'Wait for the end of a job',
      parameters: [
        {
          name: 'timeoutMs',
          in: 'query',
          description: 'How long to wait; without it the answer comes at once',
          schema: count,
        },
      ],
      responses: {
        200: { description: 'It has ended, in the way that `status` says', content: content(ref('Result')) },
        202: {
          description: 'It has not ended in time, and goes on. Ask again',
          content: content(ref('Unended')),
        },
        ...refusals(400, 401, 404, 429, 503),
      },
    },
  },
  '/jobs/{id}/promote': {
    parameters: id,
    post: {
      operationId: 'promoteJob',
      summary: 'Let a job that is delayed, or waits for its next attempt, run now',
      responses: { 200: done('Promoted'), ...refusals(401, 404, 409, 429, 501, 503) },
    },
  },
  '/jobs/{id}/remove': {
    parameters: id,
    post: {
      operationId: 'removeJob',
      summary: 'Take a job that waits out of the queue, with its record',
      responses: { 200: done('Removed'), ...refusals(401, 404, 409, 429, 501, 503) },
    },
  },
};

export const statuses = ['pending', 'processing', 'retrying', 'completed', 'failed', 'cancelled', 'expired'];

export const recordSchemas = {
  Cancelled: object({ id: text, status: { enum: ['cancelled', 'cancelling'] } }),
  Done: object({ id: text, status: { enum: ['changed', 'promoted', 'removed'] } }),
  Change: {
    ...object({ payload: {}, delayMs: count, runAt: moment, priority: prioritySchema }, []),
    additionalProperties: false,
    minProperties: 1,
  },
  Result: object({
    id: text,
    status: { enum: statuses.slice(3) },
    output: {},
    reason: orNull(text),
    error: orNull(text),
  }),
  Unended: object({ id: text, status: { enum: statuses.slice(0, 3) }, statusUrl: text }),
  Job: object({
    id: text,
    queue: text,
    job: text,
    tenantId: orNull(text),
    name: orNull(text),
    idempotencyKey: orNull(text),
    schedule: orNull(text),
    requestId: orNull(text),
    traceparent: orNull(text),
    status: { enum: statuses },
    priority: count,
    createdAt: moment,
    runAt: moment,
    finishedAt: orNull(moment),
    progress: orNull(
      object({
        done: { type: 'number' },
        total: orNull({ type: 'number' }),
        message: orNull(text),
        at: moment,
      }),
    ),
    maxAttempts: orNull(count),
    attempts: {
      type: 'array',
      items: object({
        attempt: count,
        startedAt: moment,
        endedAt: moment,
        outcome: text,
        error: orNull(object({ code: text, message: text })),
      }),
    },
    output: {},
    reason: orNull(text),
    error: orNull(text),
  }),
};
