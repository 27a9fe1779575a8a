/** `PATCH /jobs/:id`, `POST /jobs/:id/promote` and `POST /jobs/:id/remove`. Loaded with the first of them. */

import { shown } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { readJson } from './body.ts';
import type { Answer, Call, Endpoint } from './call.ts';
import { assertFlat, rulesOf } from './enqueue.ts';
import { optionsOfChange } from './options.ts';
import { Refusal } from './problem.ts';
import { recordFor, statusUrlOf } from './records.ts';

export async function changeJob(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  const record = await recordFor(endpoint, call, id);
  const client = await keeperOf(endpoint, id);
  const rules = rulesOf(endpoint, call, record.job);
  const body = await readJson(call.request, endpoint.maxBodyBytes);
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const detail = `Expected an object with payload, delayMs, runAt or priority, got ${shown(body)}. GET /openapi.json describes the body.`;
    throw new Refusal(422, 'REQUEST', detail);
  }
  const { payload, ...options } = body as Record<string, unknown>;
  const change = optionsOfChange(options, { ...rules, limits: client.backend.limits });
  const hasPayload = Object.hasOwn(body, 'payload');
  if (hasPayload) assertFlat(payload);
  if (!hasPayload && Object.keys(change).length === 0) {
    const detail =
      'Expected at least one of payload, delayMs, runAt and priority, got none. Send what shall change.';
    throw new Refusal(400, 'OPTION', detail);
  }
  const changing = client.update(rules.job, id, { ...change, ...(hasPayload && { payload }) });
  return answerOf(endpoint, id, changing, 'changed');
}

export async function promoteJob(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  await recordFor(endpoint, call, id);
  const client = await keeperOf(endpoint, id);
  return answerOf(endpoint, id, client.promote(id), 'promoted');
}

export async function removeJob(endpoint: Endpoint, call: Call, id: string): Promise<Answer> {
  await recordFor(endpoint, call, id);
  const client = await keeperOf(endpoint, id);
  return answerOf(endpoint, id, client.remove(id), 'removed');
}

async function answerOf(
  endpoint: Endpoint,
  id: string,
  doing: Promise<boolean>,
  status: string,
): Promise<Answer> {
  const done = await doing.catch((cause) => {
    throw backendError('changing a job', cause);
  });
  if (done) return { status: 200, body: { id, status } };
  const detail = `Expected a job that waits, got one that runs or has ended. GET ${statusUrlOf(endpoint, id)} says which.`;
  throw new Refusal(409, 'CONFLICT', detail);
}

/** The client of the backend that has the job. */
async function keeperOf({ client }: Endpoint, id: string): Promise<Client> {
  let keeper = client;
  for (const one of client.backends?.values() ?? []) {
    // One that does not answer may not be the one that has it.
    const record = await one.status(id).catch(() => null);
    if (record === null) continue;
    keeper = one;
    break;
  }
  if (keeper.backend.pending) return keeper;
  const detail =
    'Expected a job in a queue that finds jobs by their id, got one in a queue that does not. Cancel it with DELETE, and enqueue another one.';
  throw new Refusal(501, 'CONFIG', detail);
}
