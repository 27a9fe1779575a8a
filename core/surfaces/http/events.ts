/** `POST /events/:event`: brings an event to the jobs that wait for it. Loaded with the first of them. */

import { shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import { emit } from '../../features/steps/emit.ts';
import type { EmitOptions } from '../../kernel/app/durable.ts';
import { eachOf } from '../../kernel/enqueue/backends.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { assertFlat } from './enqueue.ts';
import { Refusal, refusalOf } from './problem.ts';

const members = ['payload', 'key', 'keepMs'];

export async function emitEvent(endpoint: Endpoint, call: Call, event: string): Promise<Answer> {
  const { caller, request } = call;
  // Says nothing of whether somebody waits for it.
  if (caller.events !== null && !caller.events.has(event)) {
    const detail = `Expected an event that this credential may emit, got ${shown(event)}. Ask for a credential with this event.`;
    throw new Refusal(403, 'FORBIDDEN', detail);
  }
  const body = await readJson(request, endpoint.maxBodyBytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw unfit(`an object with any of ${members.join(', ')}, got ${shown(body)}`);
  const unknown = Object.keys(body).find((member) => !members.includes(member));
  if (unknown !== undefined) throw unfit(`only ${members.join(', ')} in an event, got ${shown(unknown)}`);
  const { payload, ...options } = body as { payload?: unknown } & EmitOptions;
  if (payload !== undefined) assertFlat(payload);
  if (caller.tenantId !== null && options.keepMs !== undefined)
    throw unfit(
      'no keepMs from a credential that is bound to a tenant, because what is kept belongs to all tenants. Leave it out',
    );
  const clients = eachOf(endpoint.client);
  if (!clients.some(({ stores }) => stores.steps)) {
    const detail = 'Expected a path of this API, got /events, because no store here keeps the steps of jobs.';
    throw new Refusal(404, 'NOT_FOUND', detail);
  }
  const reached = await emit(clients, event, payload, options, caller.tenantId).catch((cause) => {
    const refusal = refusalOf(cause);
    throw refusal.status < 500 ? refusal : backendError('emitting an event', cause);
  });
  return { status: 200, body: { event, reached } };
}

function unfit(expected: string): Refusal {
  return new Refusal(422, 'REQUEST', `Expected ${expected}.`);
}
