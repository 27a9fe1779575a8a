/** The HTTP API as an OpenAPI 3.1 document, made from the schemas of the jobs. */

import type { Job } from '../app/job.ts';
import type { StandardSchema } from '../app/schema.ts';
import { exampleFor } from './example.ts';

type Json = Readonly<Record<string, unknown>>;

/** Standard JSON Schema (standardschema.dev): what a schema library may offer beside `validate`. */
interface WithJsonSchema {
  readonly jsonSchema?: { input(options: { target: string }): Json };
}

const ref = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });
const content = (schema: Json, example?: { readonly value: unknown }): Json => ({
  'application/json': { schema, ...(example && { example: example.value }) },
});
const schemaName = (job: Job): string => `payload.${job.name}`;

export function openApiOf(jobs: readonly Job[], basePath: string): Json {
  const payloads = jobs.map((job) => {
    const schema = payloadSchema(job);
    return { job, schema, example: exampleFor(job, schema) };
  });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Longshore jobs',
      version: '1',
      description: 'Enqueue, watch and cancel background jobs.',
    },
    ...(basePath !== '' && { servers: [{ url: basePath }] }),
    security: [{ bearer: [] }],
    paths: {
      '/jobs': { post: manyOperation(payloads) },
      ...Object.fromEntries(
        payloads.map((payload) => [`/jobs/${payload.job.name}`, { post: oneOperation(payload) }]),
      ),
      '/jobs/{id}': {
        parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
        get: {
          operationId: 'getJob',
          summary: 'Status, progress and attempts of a job',
          responses: {
            200: { description: 'The record', content: content(ref('Job')) },
            ...refusals(401, 404, 429, 503),
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
      '/healthz': {
        get: {
          operationId: 'health',
          summary: 'Whether this process answers',
          security: [],
          responses: { 200: { description: 'It does', content: content({ type: 'object' }) } },
        },
      },
    },
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      responses: Object.fromEntries(
        Object.entries(problemResponses).map(([status, description]) => [
          `Problem${status}`,
          { description, content: { 'application/problem+json': { schema: ref('Problem') } } },
        ]),
      ),
      schemas: {
        ...fixedSchemas,
        ...Object.fromEntries(payloads.map(({ job, schema }) => [schemaName(job), schema])),
      },
    },
  };
}

/** What the library says about the job's input; anything at all when it says nothing. */
function payloadSchema(job: Job): Json {
  const { jsonSchema } = job.schema['~standard'] as StandardSchema['~standard'] & WithJsonSchema;
  let schema: Json | null = null;
  try {
    schema = jsonSchema?.input({ target: 'draft-2020-12' }) ?? null;
  } catch {
    // A date or a transform has no JSON Schema.
  }
  if (schema === null) {
    return {
      description: `Job "${job.name}" checks its payload, but its schema cannot be shown as JSON Schema.`,
    };
  }
  const { $schema: _, ...rest } = schema;
  return moved(rest, `#/components/schemas/${schemaName(job)}`) as Json;
}

/** A schema that refers to itself says `#`, which in the document would be the document. */
function moved(value: unknown, to: string): unknown {
  if (Array.isArray(value)) return value.map((item) => moved(item, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) =>
      key === '$ref' && typeof member === 'string' && /^#(\/|$)/.test(member)
        ? [key, `${to}${member.slice(1)}`]
        : [key, moved(member, to)],
    ),
  );
}

interface Payload {
  readonly job: Job;
  readonly example: { readonly value: unknown } | null;
}

function oneOperation({ job, example }: Payload): Json {
  return {
    operationId: `enqueue.${job.name}`,
    summary: `Enqueue ${job.name}`,
    parameters: [
      ...Object.entries(optionSchemas).map(([name, schema]) => ({ name, in: 'query', schema })),
      { name: 'Idempotency-Key', in: 'header', schema: keySchema },
    ],
    requestBody: { required: true, content: content(ref(schemaName(job)), example ?? undefined) },
    responses: {
      202: {
        description: 'Stored; a worker runs it',
        headers: { Location: { description: 'The record', schema: { type: 'string' } } },
        content: content(ref('Accepted')),
      },
      ...refusals(400, 401, 403, 404, 413, 415, 422, 429, 503),
    },
  };
}

function manyOperation(payloads: readonly Payload[]): Json {
  const first = payloads.find(({ example }) => example !== null);
  const example = first && { value: [{ job: first.job.name, payload: first.example!.value }] };
  const item = ({ job }: Payload): Json => ({
    type: 'object',
    required: ['job'],
    additionalProperties: false,
    properties: { job: { const: job.name }, payload: ref(schemaName(job)), options: ref('Options') },
  });
  return {
    operationId: 'enqueueMany',
    summary: 'Enqueue several jobs, each with its own result',
    requestBody: {
      required: true,
      content: content(
        { type: 'array', minItems: 1, items: payloads.length > 0 ? { oneOf: payloads.map(item) } : false },
        example,
      ),
    },
    responses: {
      202: { description: 'All were stored', content: content(ref('Results')) },
      207: { description: 'Some were stored, some refused', content: content(ref('Results')) },
      ...refusals(400, 401, 403, 404, 413, 415, 422, 429, 503),
    },
  };
}

const problemResponses = {
  400: 'Not JSON, or an option is wrong',
  401: 'No credential, or one that is not known',
  403: 'The credential may not do this',
  404: 'No such job',
  409: 'The job has ended',
  413: 'Too large',
  415: 'Not application/json',
  422: 'JSON, but not what the job takes',
  429: 'Too many requests; see Retry-After',
  503: 'The queue does not answer; see Retry-After',
} as const;

const refusals = (...statuses: (keyof typeof problemResponses)[]): Json =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]));

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const moment = { type: 'string', format: 'date-time' };
const orNull = (schema: Json): Json => ({ anyOf: [schema, { type: 'null' }] });
const keySchema = { type: 'string', pattern: '^(?!schedule:)[\\x21-\\x7e]{1,256}$' };

const optionSchemas = {
  delayMs: count,
  runAt: moment,
  priority: {
    anyOf: [{ enum: ['critical', 'high', 'normal', 'low'] }, { type: 'integer', minimum: 0, maximum: 9 }],
  },
  queue: text,
  maxRetries: { type: 'integer', minimum: 0, maximum: 100 },
};

const object = (properties: Json, required = Object.keys(properties)): Json => ({
  type: 'object',
  required,
  properties,
});

const fixedSchemas = {
  Accepted: object({ id: text, queue: text, statusUrl: text, duplicate: { const: true } }, [
    'id',
    'queue',
    'statusUrl',
  ]),
  Results: object({ results: { type: 'array', items: { anyOf: [ref('Accepted'), ref('Problem')] } } }),
  Cancelled: object({ id: text, status: { enum: ['cancelled', 'cancelling'] } }),
  Options: {
    ...object({ ...optionSchemas, idempotencyKey: keySchema }, []),
    additionalProperties: false,
  },
  Problem: object(
    {
      type: text,
      title: text,
      status: { type: 'integer' },
      detail: text,
      code: text,
      requestId: text,
      errors: { type: 'array', items: object({ path: text, message: text }) },
      results: { type: 'array' },
    },
    ['type', 'title', 'status', 'detail', 'code'],
  ),
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
    status: { enum: ['pending', 'processing', 'retrying', 'completed', 'failed', 'cancelled', 'expired'] },
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
