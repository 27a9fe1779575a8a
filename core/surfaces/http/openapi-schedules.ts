/** What the OpenAPI document says of schedules that are made at run time. */

import { count, type Json, moment, object, orNull, text } from '../../operations/shapes.ts';
import { content, ref, refusals } from './openapi-parts.ts';

const parameters = [{ name: 'name', in: 'path', required: true, schema: text }];

const one = (description: string): Json => ({ description, content: content(ref('Schedule')) });

const steer = (operationId: string, summary: string): Json => ({
  parameters,
  post: {
    operationId,
    summary,
    responses: { 200: one('The schedule as it is then'), ...refusals(401, 403, 404, 409, 429, 503) },
  },
});

export const schedulePaths: Json = {
  '/schedules': {
    get: {
      operationId: 'listSchedules',
      summary: 'Schedules by name, page by page',
      parameters: [
        { name: 'max', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 1_000 } },
        { name: 'after', in: 'query', description: 'The `next` of the page before', schema: text },
      ],
      responses: {
        200: { description: 'A page', content: content(ref('SchedulePage')) },
        ...refusals(400, 401, 403, 404, 429, 503),
      },
    },
  },
  '/schedules/{name}': {
    parameters,
    get: {
      operationId: 'getSchedule',
      summary: 'A schedule',
      responses: { 200: one('The schedule'), ...refusals(401, 403, 404, 429, 503) },
    },
    put: {
      operationId: 'putSchedule',
      summary: 'Make a schedule, or change one; what is left out gets its default',
      requestBody: { required: true, content: content(ref('ScheduleDefinition')) },
      responses: {
        200: one('Changed'),
        201: one('Made'),
        ...refusals(400, 401, 403, 404, 409, 413, 415, 422, 429, 503),
      },
    },
    delete: {
      operationId: 'removeSchedule',
      summary: 'Remove a schedule; jobs that it has enqueued stay',
      responses: {
        200: { description: 'Removed', content: content(object({ name: text, removed: { const: true } })) },
        ...refusals(401, 403, 404, 429, 503),
      },
    },
  },
  '/schedules/{name}/pause': steer('pauseSchedule', 'Enqueue nothing until it is resumed'),
  '/schedules/{name}/resume': steer('resumeSchedule', 'Go on, with the first moment after now'),
  '/schedules/{name}/run': {
    parameters,
    post: {
      operationId: 'runSchedule',
      summary: 'Enqueue its job now, beside its moments',
      responses: {
        202: {
          description: 'Stored; a worker runs it',
          content: content(object({ id: text, statusUrl: text })),
        },
        ...refusals(401, 403, 404, 413, 422, 429, 503),
      },
    },
  },
};

const timing = {
  cron: { type: 'string', description: 'Five fields, or six with seconds first' },
  everyMs: { type: 'integer', minimum: 1_000 },
  timezone: { type: 'string', description: 'IANA name; UTC without it' },
};
const policies = { overlap: { enum: ['allow', 'skip'] }, missed: { enum: ['one', 'all', 'skip'] } };

export const scheduleSchemas = {
  ScheduleDefinition: {
    ...object({ job: text, payload: {}, ...timing, ...policies }, ['job']),
    additionalProperties: false,
    oneOf: [{ required: ['cron'] }, { required: ['everyMs'] }],
  },
  SchedulePage: object({ schedules: { type: 'array', items: ref('Schedule') }, next: orNull(text) }),
  Schedule: object(
    {
      name: text,
      timing: text,
      cron: orNull(text),
      everyMs: orNull(count),
      timezone: text,
      job: text,
      payload: {},
      ...policies,
      tenantId: orNull(text),
      createdAt: moment,
      changedAt: moment,
      nextAt: orNull(moment),
      pausedAt: orNull(moment),
      failure: orNull(object({ at: moment, code: text, message: text })),
    },
    ['name', 'timing', 'job', 'overlap', 'missed', 'createdAt', 'changedAt', 'nextAt', 'pausedAt', 'failure'],
  ),
};
