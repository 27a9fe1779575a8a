/** Pieces of the OpenAPI document. */

import type { Json } from '../../operations/shapes.ts';

export const content = (schema: Json, example?: { readonly value: unknown }): Json => ({
  'application/json': { schema, ...(example && { example: example.value }) },
});

export const problemResponses = {
  400: 'Not JSON, or an option is wrong',
  401: 'No credential, or one that is not known',
  403: 'The credential may not do this',
  404: 'Nothing is here under this name, or it is not yours',
  409: 'Too late, or not now: it has ended, does not wait any more, or its name is taken',
  413: 'Too large',
  415: 'Not application/json',
  422: 'JSON, but not what is taken here',
  429: 'Too many requests; see Retry-After',
  501: 'The queue cannot do this',
  503: 'The queue does not answer; see Retry-After',
} as const;

export const refusals = (...statuses: (keyof typeof problemResponses)[]): Json =>
  Object.fromEntries(statuses.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]));
