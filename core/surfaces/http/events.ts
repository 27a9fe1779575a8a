/** Server-sent events: a job or a batch each time it changed, until its end. https://html.spec.whatwg.org/multipage/server-sent-events.html */

import { createHash } from 'node:crypto';
import { sleep, within } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { Resource } from '../../operations/operation.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { mine, type RoutedOperation, type Run, viewOf } from './operations.ts';
import { refusalOf } from './problem.ts';

/** Proxies close a connection that is silent for a minute. */
const heartbeatMs = 15_000;
/** A browser connects again after this time. */
const retryMs = 2_000;

interface Event {
  readonly id: string;
  readonly text: string;
}

/**
 * The id of an event follows from the state it shows. So any process can resume a stream: it sends the current state unless the caller has
 * seen it. A caller that has seen the end gets a 204, after which a browser does not connect again.
 */
export const eventsOf =
  ({ http }: RoutedOperation): Run =>
  (endpoint, call, id) =>
    showEvents(endpoint, call, http.resource, id);

async function showEvents<State>(
  endpoint: Endpoint,
  call: Call,
  resource: Resource<State>,
  id: string,
): Promise<Answer> {
  const { hasEnded, noun, watch } = resource;
  const found = await mine(endpoint, call, resource, id);
  const eventOf = (state: State): Event => {
    const data = JSON.stringify(viewOf(endpoint, resource, state));
    const its = createHash('sha256').update(data).digest('base64url').slice(0, 22);
    return { id: its, text: `id: ${its}\nevent: ${noun}\ndata: ${data}\n\n` };
  };
  const seen = call.request.headers.get('last-event-id');
  const first = eventOf(found);
  if (hasEnded!(found) && first.id === seen) return { status: 204, body: null };
  const release = endpoint.takeStream(call.caller);
  const { clock } = endpoint.client.app;
  const stopped = new AbortController();
  const signal = AbortSignal.any([stopped.signal, call.request.signal]);
  const states = statesOf();
  let next: Promise<IteratorResult<State>> | null = null;
  let last = seen;

  /** Goes on when the store was away: a browser that connected again meanwhile would get a 503, and give up. */
  async function* statesOf(): AsyncGenerator<State, void> {
    for (let isAway = false; ; ) {
      try {
        for await (const state of watch!(endpoint.client, id, signal)) {
          isAway = false;
          yield state;
        }
        return;
      } catch (error) {
        if (signal.aborted || (error instanceof LongshoreError && error.code === 'NOT_FOUND')) return;
        if (!isAway) endpoint.report(refusalOf(backendError('reading', error)));
        isAway = true;
        await sleep(clock, retryMs, signal);
      }
    }
  }

  /** The text to send next; `null` = the stream ends. */
  async function read(): Promise<string | null> {
    for (;;) {
      next ??= states.next();
      const got = await within(clock, heartbeatMs, next, () => null);
      if (got === null) return ':\n\n';
      next = null;
      if (got.done) return null;
      const event = eventOf(got.value);
      if (event.id === last) continue;
      last = event.id;
      return event.text;
    }
  }

  let stopTimer = () => {};
  function end(): void {
    stopTimer();
    release();
    stopped.abort();
    void states.return(); // if it is not being read, it would keep its watch of the store
  }

  const body = new ReadableStream<string>({
    start(controller) {
      controller.enqueue(`retry: ${retryMs}\n\n${first.id === seen ? '' : first.text}`);
      last = first.id;
      const close = () => {
        end();
        controller.close();
      };
      if (endpoint.streamTimeoutMs === 0) close();
      // Also ends the stream of a caller that does not read it.
      else stopTimer = clock.after(endpoint.streamTimeoutMs, close);
    },
    async pull(controller) {
      const text = await read();
      if (stopped.signal.aborted) return; // it is closed already
      if (text !== null) return controller.enqueue(text);
      end();
      controller.close();
    },
    cancel: end,
  }).pipeThrough(new TextEncoderStream());
  return { status: 200, body, contentType: 'text/event-stream', headers: { 'x-accel-buffering': 'no' } };
}
