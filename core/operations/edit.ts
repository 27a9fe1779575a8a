/** Gives a dead letter another payload. It keeps its id. */

import { LongshoreError } from '../base/errors.ts';
import { assertJson } from '../base/json.ts';
import { isSecret, maskedSign } from '../base/mask.ts';
import type { DeadLetter, Replacement } from '../contract/admin.ts';
import type { Envelope } from '../envelope/envelope.ts';
import { retryDeadLetters } from '../features/batches/retry-dead-letters.ts';
import type { Job } from '../kernel/app/job.ts';
import { validate } from '../kernel/app/schema.ts';
import { deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import { keyAfter, resealed, signedEnvelope } from '../kernel/enqueue/anew.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { loadPayload, storePayloads, type Upload } from '../kernel/enqueue/offload.ts';
import { wrongOption } from '../kernel/enqueue/prepare.ts';
import { nowOf } from '../kernel/enqueue/skew.ts';
import { getDeadLetter } from '../kit/records/dead-letter-pages.ts';
import { audited, noDeadLetter, type OperatorHost } from './audit.ts';
import { administered } from './select.ts';
import type { EditOptions } from './types.ts';

export async function edit(host: OperatorHost, id: string, options: EditOptions): Promise<void> {
  checkExpiry(options.expiresInMs);
  const found = await findDeadLetter(host.client, id);
  if (!found) throw noDeadLetter(id);
  const { client } = found;
  const { payloads } = client.stores;
  const uploads: Upload[] = [];
  const replacement = await signedEdit(found, options, payloads ? uploads : null);
  if (options.dryRun) return;
  await audited(host, 'dead.edit', id, async (record) => {
    if (payloads) for (const error of (await storePayloads(payloads, uploads)).values()) throw error;
    const count = await retryDeadLetters(client, [id], new Map([[id, replacement]]));
    record(count);
    if (count === 0) throw noDeadLetter(id);
  });
}

interface FoundDeadLetter {
  readonly client: Client;
  readonly letter: DeadLetter;
}

/** Looks for the letter on each backend. `null` = none has it. */
export async function findDeadLetter(client: Client, id: string): Promise<FoundDeadLetter | null> {
  for (const home of administered(client)) {
    const letter = await getDeadLetter(deadLettersOf(home), id);
    if (letter) return { client: home, letter };
  }
  return null;
}

/** The verified envelope of the letter and its job. Throws if its payload cannot be edited here. */
export function editableOf(
  client: Client,
  letter: DeadLetter,
): { readonly envelope: Envelope; readonly job: Job } {
  const envelope = signedEnvelope(client, letter);
  const job = client.app.jobs.get(envelope.job);
  if (job) return { envelope, job };
  throw new LongshoreError(
    'UNKNOWN_JOB',
    `No job "${envelope.job}" is defined here, so its payload cannot be checked. Edit it with an app that has the job.`,
  );
}

async function signedEdit(
  { client, letter }: FoundDeadLetter,
  { payload, expiresInMs, diedAt }: EditOptions,
  uploads: Upload[] | null,
): Promise<Replacement> {
  if (diedAt !== undefined && letter.diedAt !== diedAt)
    throw new LongshoreError(
      'CONFLICT',
      `Job ${letter.id} was retried meanwhile, and has died again. Reload the dead letter and edit it again.`,
    );
  const { envelope, job } = editableOf(client, letter);
  const now = await nowOf(client);
  if (isExpired(envelope, now) && expiresInMs === undefined) throw new LongshoreError('OPTION', expiredText);
  if (payload !== undefined) assertJson(payload, 'payload');
  const old = envelope.claim ? await loadPayload(client.stores, { ...envelope }) : envelope.payload;
  const mended = unmasked(payload, typeof old === 'symbol' ? undefined : old);
  const valid = await validate(job.schema, mended, job.name);
  const idempotencyKey = await keyAfter(job, envelope, old, valid);
  const expiresAt = expiresInMs === undefined ? envelope.expiresAt : now + expiresInMs;
  const edited = { ...envelope, payload: mended, claim: null, idempotencyKey, expiresAt };
  return signedAnew(client, edited, uploads);
}

export function checkExpiry(expiresInMs: number | undefined): void {
  if (expiresInMs !== undefined && !(Number.isSafeInteger(expiresInMs) && expiresInMs >= 1))
    throw wrongOption(`expiresInMs to be an integer of 1 or more, got ${expiresInMs}`);
}

/** Like `resealed`, with the attempts counted from 1 again. */
export const signedAnew = (client: Client, envelope: Envelope, uploads: Upload[] | null): Replacement =>
  resealed(client, { ...envelope, attempts: 0 }, uploads);

export const isExpired = ({ expiresAt }: Envelope, now: number): boolean =>
  expiresAt != null && expiresAt <= now;

export const expiredText =
  'It has expired, and would expire again at once. Set a new expiry (expiresInMs, --expires-in).';

/**
 * An edited payload, in which each member that still reads `[masked]` gets its old value back.
 *
 */
export const unmasked = (given: unknown, old: unknown): unknown => restored(given, old, 'payload');

function restored(given: unknown, old: unknown, path: string): unknown {
  if (typeof given !== 'object' || given === null) return given;
  if (Array.isArray(given)) {
    const olds: unknown[] = Array.isArray(old) && old.length === given.length ? old : [];
    return given.map((item, i) => restored(item, olds[i], `${path}[${i}]`));
  }
  const olds = typeof old === 'object' && old !== null && !Array.isArray(old) ? old : {};
  return Object.fromEntries(
    Object.entries(given).map(([name, member]) => {
      const before = Object.hasOwn(olds, name) ? (olds as Record<string, unknown>)[name] : undefined;
      if (member !== maskedSign || !isSecret(name))
        return [name, restored(member, before, `${path}.${name}`)];
      if (before !== undefined) return [name, before];
      const at = `${path}.${name}`.slice(0, 120);
      throw new LongshoreError(
        'PAYLOAD',
        `Expected a value at ${at}, got ${maskedSign}: the old payload has no value there to keep. Enter the value.`,
      );
    }),
  );
}
