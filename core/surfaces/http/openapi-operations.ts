/** What the OpenAPI document says of operations. */

import { type Json, text } from '../../operations/shapes.ts';
import { content, type problemResponses, ref, refusals } from './openapi-parts.ts';
import type { RoutedOperation } from './operations.ts';

/** Those of one path are together: `get`, `post`, and the parameter that they share. */
export function pathsOf(operations: readonly RoutedOperation[]): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const { http, subject, summary } = operation;
    const { route, operationId } = http;
    const [method = '', path = ''] = route.split(' ');
    const parameters = subject && [{ name: subject.parameter, in: 'path', required: true, schema: text }];
    paths[path] = {
      ...(parameters && { parameters }),
      ...paths[path],
      [method.toLowerCase()]: { operationId, summary, responses: responsesOf(operation) },
    };
  }
  return paths;
}

function responsesOf(operation: RoutedOperation): Json {
  const { http, subject } = operation;
  const shape = http.more?.shape ?? subject?.shape;
  const answer = (description: string) => ({
    description,
    content: content(shape ? ref(shape.name) : { type: 'object' }),
  });
  const done = typeof operation.done === 'string' ? operation.done : `The ${subject?.noun}`;
  return {
    200: answer(http.description ?? done),
    ...(operation.later !== undefined && { 202: answer(operation.later) }),
    ...refusals(...refusalsOf(operation)),
  };
}

function* refusalsOf({ http, subject, nothing }: RoutedOperation): Generator<keyof typeof problemResponses> {
  yield* [401, 429, 503];
  if (subject?.needs) yield 403;
  if (subject) yield* [404, 501];
  if (nothing !== undefined) yield 409;
  yield* http.errors ?? [];
}

export const schemasOf = (operations: readonly RoutedOperation[]): Json =>
  Object.fromEntries(
    operations.flatMap(({ http, subject }) =>
      [subject?.shape, http.more?.shape].flatMap((shape) => (shape ? [[shape.name, shape.schema]] : [])),
    ),
  );
