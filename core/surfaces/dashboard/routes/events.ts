import { Refusal } from '../../http/problem.ts';
import { apiHeaders } from '../answer/headers.ts';
import type { Run } from '../call.ts';

export const openEvents: Run = async ({ streams }) => {
  if (!streams)
    throw new Refusal(404, 'NOT_FOUND', 'Nothing streams here: ask for api/live every few seconds.');
  return new Response(streams.open(), {
    headers: {
      ...apiHeaders,
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no', // a proxy that collects answers would show nothing at all
    },
  });
};
