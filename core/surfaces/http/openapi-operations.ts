/** What the OpenAPI document says of operations. */

import type { Input } from '../../operations/operation.ts';
import { type Json, ref, type Shape, text } from '../../operations/shapes.ts';
import { content, type problemResponses, refusals } from './openapi-parts.ts';
import type { RoutedOperation } from './operations.ts';

/** Those of one path are together: `get`, `post`, and the parameter that they share. */
export function pathsOf(operations: readonly RoutedOperation[]): Json {
  const paths: Record<string, Json> = {};
  for (const operation of operations) {
    const { http, input, summary } = operation;
    const { byHand, method, operationId, path } = http;
    const [, name] = /\{(\w+)\}/.exec(path) ?? [];
    const query = method === 'GET' && input ? Object.entries(input).map(queryOf) : [];
    paths[path] = {
      ...(name !== undefined && { parameters: [{ name, in: 'path', required: true, schema: text }] }),
      ...paths[path],
      [method.toLowerCase()]: {
        operationId,
        summary,
        ...(query.length > 0 && { parameters: query }),
        ...(byHand?.body && { requestBody: { required: true, content: contentOf(byHand.body) } }),
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
  const { answer, byHand, description, resource } = http;
  const shape = answer?.shape ?? resource.shape;
  const said = description ?? (typeof done === 'string' ? done : `The ${resource.noun}`);
  const answers = byHand?.answers ?? {
    [answer?.status ?? 200]: [said, shape] as const,
    ...(later !== undefined && { 202: [later, shape] as const }),
  };
  return {
    ...Object.fromEntries(
      Object.entries(answers).map(([status, [description, its]]) => [
        status,
        { description, content: contentOf(its) },
      ]),
    ),
    ...refusals(...refusalsOf(operation)),
  };
}

function* refusalsOf({ http, input, nothing }: RoutedOperation): Generator<keyof typeof problemResponses> {
  const { byHand, errors = [], method, resource, support } = http;
  yield* [401, 404, 429, 503, ...errors];
  if (resource.needs) yield 403;
  if (resource.notKept?.[0] === 501 || support) yield 501;
  if (nothing !== undefined) yield 409;
  if (byHand?.body) yield* [400, 413, 415, 422];
  if (method === 'GET' && input) yield 400;
}

export const schemasOf = (operations: readonly RoutedOperation[]): Json =>
  Object.fromEntries(
    operations.flatMap(({ http }) => {
      const { answer, byHand, resource } = http;
      const answers = Object.values(byHand?.answers ?? {}).map(([, shape]) => shape);
      return [resource.shape, answer?.shape, byHand?.body, ...answers].flatMap((shape) =>
        shape && shape.name !== null ? [[shape.name, shape.schema]] : [],
      );
    }),
  );
