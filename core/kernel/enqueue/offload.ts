/**
 * Stores payloads that are too large for the queue in a payload store. The signed envelope has the key, length and digest of the
 * payload instead.
 */

import { crypto } from '../../base/crypto.ts';
import { config, LongshoreError } from '../../base/errors.ts';
import { backendError, reportingFailures } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import type { PayloadStore, Stores } from '../../contract/store.ts';
import { alreadyDone, type Envelope, type OffloadedPayload } from '../../envelope/envelope.ts';
import { forEach } from '../../kit/parallel.ts';
import type { App } from '../app/app.ts';

/** A payload that must be stored before its message is sent. */
export interface Upload {
  readonly id: string;
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Larger payloads are refused, because sender and worker hold the whole payload in memory. */
const longestBytes = 256 * 1_048_576;
const uploadsAtOnce = 8;

export function offload(
  id: string,
  payload: unknown,
): { readonly claim: OffloadedPayload; readonly upload: Upload } {
  const bytes = Buffer.from(JSON.stringify(payload));
  if (bytes.length > longestBytes) {
    throw new LongshoreError(
      'LIMIT',
      `Expected a payload of at most ${longestBytes} bytes, got ${bytes.length}. Store the data elsewhere and send its id.`,
    );
  }
  const sha256 = digestOf(bytes);
  // The digest is part of the key: a second message with the same id must not overwrite the payload of the first.
  const key = `${id}.${sha256.slice(0, 16)}`;
  return { claim: { key, bytes: bytes.length, sha256 }, upload: { id, key, bytes } };
}

/** Stores all payloads. Resolves with the errors of those that failed, by job id. */
export async function storePayloads(
  store: PayloadStore,
  uploads: readonly Upload[],
): Promise<Map<string, LongshoreError>> {
  const failed = new Map<string, LongshoreError>();
  await forEach(
    uploads,
    async ({ id, key, bytes }) => {
      try {
        await store.put(key, bytes);
      } catch (error) {
        failed.set(id, backendError('keeping a payload', error));
      }
    },
    uploadsAtOnce,
  );
  return failed;
}

/**
 * Puts the payload back into the envelope and returns it. Returns `alreadyDone` if the job is done and this is a late copy of its message.
 * Throws `PAYLOAD_STORE` if the payload is missing or not the one that was signed, `BACKEND` if the store fails, and `CONFIG` if there
 * is no payload store.
 */
export async function loadPayload({ payloads, records }: Stores, envelope: Envelope): Promise<unknown> {
  const { claim, identifier } = envelope;
  if (!payloads) {
    throw config('The payload of this job is kept beside the queue. Give the worker a store with payloads.');
  }
  const bytes = await payloads.get(claim!.key, claim!.bytes).catch((error) => {
    throw backendError('fetching a payload', error);
  });
  if (bytes === null) {
    const record = await records.get(identifier);
    if (record?.status === 'completed') return alreadyDone;
    throw new LongshoreError(
      'PAYLOAD_STORE',
      `Expected the payload under ${claim!.key} in the payload store, found nothing. It was removed too early: see its lifecycle rule.`,
    );
  }
  if (bytes.byteLength !== claim!.bytes || digestOf(bytes) !== claim!.sha256) {
    throw new LongshoreError(
      'PAYLOAD_STORE',
      `The payload under ${claim!.key} is not the one that was enqueued: its digest differs. It was changed or damaged.`,
    );
  }
  const payload: unknown = JSON.parse(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
  );
  assertJson(payload, 'payload');
  // Changes the envelope, because an isolate gets the payload from there.
  (envelope as { payload: unknown }).payload = payload;
  return payload;
}

/** Deletes the payload. If that fails, the store's lifecycle rule deletes it later. */
export async function dropPayload(
  app: App,
  { payloads }: Stores,
  { identifier, claim }: Envelope,
): Promise<void> {
  const remove = async () => payloads?.delete(claim!.key);
  await reportingFailures(app.events, 'removing a payload', [identifier], remove, 'payload');
}

const digestOf = (bytes: Uint8Array): string => crypto().hash('sha256', bytes);
