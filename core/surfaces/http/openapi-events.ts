/** What the OpenAPI document says of events. */

import { count, type Json, object, text } from '../../operations/shapes.ts';
import { content, refusals } from './openapi-parts.ts';

/** @param events those that the credential may emit; `null` = all */
export const eventPaths = (events: readonly string[] | null): Json => ({
  '/events/{event}': {
    parameters: [
      { name: 'event', in: 'path', required: true, schema: events === null ? text : { enum: events } },
    ],
    post: {
      operationId: 'emitEvent',
      summary: 'Bring an event to the jobs that wait for it, each once',
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
