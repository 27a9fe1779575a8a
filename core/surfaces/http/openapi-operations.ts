/** The operations in the OpenAPI document. */

import type { Input } from '../../operations/operation.ts';
import { type Json, ref, type Shape, text } from '../../operations/shapes.ts';
import type { RoutedOperation } from './operations.ts';

const streamed = (schema: Json): Json => ({ 'text/event-stream': { schema } });

export const content = (schema: Json, example?: { readonly value: unknown }): Json => ({
  'application/json': { schema, ...(example && { example: example.value }) },
});

export const problemResponses = {
  400: 'Not JSON, or an option is wrong',
  401: 'No credential, or an unknown one',
  403: 'The credential may not do this',
  404: 'It does not exist, or it is not yours',
  409: 'Conflict: it has ended, is no longer waiting, or its name is taken',
  413: 'Too large',
  415: 'Not application/json',
  422: 'Valid JSON, but not a valid request',
  429: 'Too many requests; see Retry-After',
  501: 'The queue cannot do this',
  503: 'The queue does not answer; see Retry-After',
} as const;

export const refusals = (...statuses: (keyof typeof problemResponses)[]): Json =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]));

/** Groups the operations by path. */
export function pathsOf(operations: readonly RoutedOperation[]): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const { http, summary } = operation;
    const { body, method, operationId, path } = http;
    const [, name] = /\{(\w+)\}/.exec(path) ?? [];
    const query = Object.entries(http.query ?? {}).map(queryOf);
    paths[path] = {
      ...(name !== undefined && { parameters: [{ name, in: 'path', required: true, schema: text }] }),
      ...paths[path],
      [method.toLowerCase()]: {
        operationId,
        summary,
        ...(query.length > 0 && { parameters: query }),
        ...(body && { requestBody: { required: true, content: contentOf(body) } }),
        responses: responsesOf(operation),
      },
    };
  }
  return paths;
}

const queryOf = ([name, { text: description, ...input }]: [string, Input]): Json => ({
  name,
  in: 'query',
  description,
  schema:
    input.kind === 'integer'
      ? { type: 'integer', minimum: input.least, ...(input.most !== undefined && { maximum: input.most }) }
      : text,
});

const contentOf = ({ name, schema }: Shape): Json => content(name === null ? schema : ref(name));

function responsesOf(operation: RoutedOperation): Json {
  const { done, http, later } = operation;
  const { answer, creates, description, pending, resource } = http;
  const shape = answer?.shape ?? resource.shape;
  const said = description ?? (typeof done === 'string' ? done : `The ${resource.noun}`);
  const answers = {
    [answer?.status ?? 200]: [said, shape] as const,
    ...(pending && { 202: [pending.description, pending.shape] as const }),
    ...(later !== undefined && { 202: [later, shape] as const }),
    ...(creates && { 201: ['Made', shape] as const }),
  };
  return {
    ...Object.fromEntries(
      Object.entries(answers).map(([status, [description, its]]) => [
        status,
        { description, content: http.events ? streamed(ref(its.name!)) : contentOf(its) },
      ]),
    ),
    ...refusals(...refusalsOf(operation)),
  };
}

function* refusalsOf({ http, nothing }: RoutedOperation): Generator<keyof typeof problemResponses> {
  const { body, errors = [], query, resource, support } = http;
  yield* [401, 404, 429, 503, ...errors];
  if (resource.needs) yield 403;
  if (resource.notKept?.[0] === 501 || support) yield 501;
  if (nothing !== undefined) yield 409;
  if (body) yield* [400, 413, 415, 422];
  if (query) yield 400;
}

export const schemasOf = (operations: readonly RoutedOperation[]): Json =>
  Object.fromEntries(
    operations.flatMap(({ http }) => {
      const { answer, body, pending, resource } = http;
      return [resource.shape, answer?.shape, body, pending?.shape].flatMap((shape) =>
        shape && shape.name !== null ? [[shape.name, shape.schema]] : [],
      );
    }),
  );
