/** The HTTP API as an OpenAPI 3.1 document, made from the schemas of the jobs. */

import type { Job } from '../../kernel/app/job.ts';
import type { StandardSchema } from '../../kernel/app/schema.ts';
import {
  count,
  type Json,
  moment,
  object,
  priority,
  ref,
  text,
  unavailable,
} from '../../operations/shapes.ts';
import { content, pathsOf, problemResponses, refusals, schemasOf } from './openapi-operations.ts';
import type { RoutedOperation } from './operations.ts';

/** Standard JSON Schema (standardschema.dev), which some schema libraries offer. */
interface WithJsonSchema {
  readonly jsonSchema?: { input(options: { target: string }): Json };
}

const schemaName = (job: Job): string => `payload.${job.name}`;

/** The parts of the API, apart from jobs, that a credential may use. */
interface Beside {
  readonly operations: readonly RoutedOperation[];
  /** `null` = all. */
  readonly events: readonly string[] | null;
  readonly metrics: boolean;
}

export function openApiOf(jobs: readonly Job[], basePath: string, has: Beside): Json {
  const payloads = jobs.map((job) => {
    const schema = payloadSchema(job);
    return { job, schema, example: exampleFor(job, schema) };
  });
  return {
    openapi: '3.1.0',
    info: {
      title: 'Longshore jobs',
      version: '1',
      description: 'Enqueue, watch, change and cancel background jobs.',
    },
    ...(basePath !== '' && { servers: [{ url: basePath }] }),
    security: [{ bearer: [] }],
    paths: {
      '/jobs': { post: manyOperation(payloads) },
      ...Object.fromEntries(
        payloads.map((payload) => [`/jobs/${payload.job.name}`, { post: oneOperation(payload) }]),
      ),
      ...pathsOf(has.operations),
      ...(has.events?.length !== 0 && eventPaths(has.events)),
      ...(has.metrics && { '/metrics': metricsPath }),
      ...servicePaths,
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
        ...schemasOf(has.operations),
        ...Object.fromEntries(payloads.map(({ job, schema }) => [schemaName(job), schema])),
      },
    },
  };
}

const servicePaths: Json = {
  '/openapi.json': {
    get: {
      operationId: 'describe',
      summary: 'This document',
      responses: {
        200: { description: 'What this credential may use', content: content({ type: 'object' }) },
        ...refusals(401, 429),
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
};

/** @param events the events that the credential may emit; `null` = all */
const eventPaths = (events: readonly string[] | null): Json => ({
  '/events/{event}': {
    parameters: [
      { name: 'event', in: 'path', required: true, schema: events === null ? text : { enum: events } },
    ],
    post: {
      operationId: 'emitEvent',
      summary: 'Send an event to the jobs that wait for it, each once',
      requestBody: {
        required: true,
        content: content({
          ...object({ payload: {}, key: { type: 'string', minLength: 1, maxLength: 256 }, keepMs: count }, [
            'payload',
            'key',
            'keepMs',
          ]),
          additionalProperties: false,
        }),
      },
      responses: {
        200: {
          description: 'How many jobs this request has reached',
          content: content(object({ event: text, reached: count })),
        },
        ...refusals(400, 401, 403, 404, 413, 415, 422, 429, 503),
      },
    },
  },
});

const metricsPath: Json = {
  get: {
    operationId: 'getMetrics',
    summary: 'Numbers for Prometheus',
    responses: {
      200: { description: 'In its text format', content: { 'text/plain': { schema: text } } },
      ...refusals(401, 403, 429, 503),
    },
  },
};

/** The JSON Schema of the job's input. If the library has none, a schema that accepts everything. */
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

/** Rewrites `#` references of a recursive schema: inside the document, `#` would be the document itself. */
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

const keySchema = { type: 'string', pattern: '^(?!schedule:)[\\x21-\\x7e]{1,256}$' };

const optionSchemas = {
  delayMs: count,
  runAt: moment,
  priority,
  queue: text,
  maxRetries: { type: 'integer', minimum: 0, maximum: 100 },
};

const itemOptions = { ...optionSchemas, idempotencyKey: keySchema };

const fixedSchemas = {
  Accepted: object({ id: text, queue: text, statusUrl: text, duplicate: { const: true } }, ['duplicate']),
  Results: object({ results: { type: 'array', items: { anyOf: [ref('Accepted'), ref('Problem')] } } }),
  Options: {
    ...object(itemOptions, Object.keys(itemOptions)),
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
      unavailable,
    },
    ['requestId', 'errors', 'results', 'unavailable'],
  ),
};

type Schema = Readonly<Record<string, unknown>>;

/** An example payload: the schema's own or a generated one. `null` if the job would refuse it. */
function exampleFor(job: Job, schema: Schema): { readonly value: unknown } | null {
  const made = sample(schema, 0);
  const value = JSON.parse(JSON.stringify(made ?? null)) as unknown;
  try {
    const result = job.schema['~standard'].validate(value);
    // An asynchronous schema may call a service, which the documentation must not do.
    if (result instanceof Promise) {
      result.catch(() => {});
      return null;
    }
    return result.issues ? null : { value };
  } catch {
    return null;
  }
}

const deepest = 6;

const texts: Readonly<Record<string, string>> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  uuid: '5f0c4a52-8d3c-4a3e-9b52-3f6d6c1a7b10',
};

function sample(schema: Schema, depth: number): unknown {
  const { examples, default: preset, anyOf, oneOf, format } = schema;
  if (Array.isArray(examples) && examples.length > 0) return examples[0];
  if (preset !== undefined) return preset;
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [branch] = (anyOf ?? oneOf ?? []) as Schema[];
  if (branch && depth < deepest) return sample(branch, depth + 1);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object':
      return depth < deepest ? sampleObject(schema, depth) : {};
    case 'array':
      return Array.from({ length: Math.min(numberOf(schema.minItems), 3) }, () =>
        sample((schema.items ?? {}) as Schema, depth + 1),
      );
    case 'string':
      return texts[String(format)] ?? 'text'.padEnd(Math.min(numberOf(schema.minLength), 100), '.');
    case 'integer':
    case 'number':
      return Math.max(numberOf(schema.minimum), numberOf(schema.exclusiveMinimum, -1) + 1);
    case 'boolean':
      return true;
    default:
      return null;
  }
}

function sampleObject({ properties, required }: Schema, depth: number): Record<string, unknown> {
  const members = (properties ?? {}) as Readonly<Record<string, Schema>>;
  const names = Array.isArray(required) ? (required as string[]) : [];
  return Object.fromEntries(names.map((name) => [name, sample(members[name] ?? {}, depth + 1)]));
}

const numberOf = (value: unknown, otherwise = 0): number => (typeof value === 'number' ? value : otherwise);
