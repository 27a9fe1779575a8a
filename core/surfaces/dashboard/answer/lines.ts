/** What takes long tells how far it is: a line of JSON for each report, and one for its end. */

import { problemOf } from '../../http/problem.ts';
import { refusalFor } from './failure.ts';
import { apiHeaders } from './headers.ts';

type Work = (signal: AbortSignal, onProgress: (progress: object) => void) => Promise<object>;

/** `work` is told to end when nobody reads any more. A failure is the last line: the status was sent before. */
export function ndjson(request: Request, work: Work): Response {
  const encoder = new TextEncoder();
  const ended = new AbortController();
  const signal = AbortSignal.any([request.signal, ended.signal]);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (value: object): void => {
        if (!ended.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
      };
      void work(signal, write)
        .then(write, (error) => write(problemOf(refusalFor(error))))
        .then(() => {
          if (!ended.signal.aborted) controller.close();
        });
    },
    cancel: () => ended.abort(),
  });
  return new Response(body, { headers: { ...apiHeaders, 'content-type': 'application/x-ndjson' } });
}
