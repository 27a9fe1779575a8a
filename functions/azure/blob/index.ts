/** Payloads that are too large for Service Bus, as blobs in a container. */

import { config, shown } from '../../../core/base/errors.ts';
import { optional } from '../../../core/base/optional.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { cloudPayloads } from '../../../core/kit/clouds/payloads.ts';
import { checkStorage, type StorageOptions, storageAccess } from '../storage/access.ts';
import { codeOf, storageError } from '../storage/errors.ts';

/**
 * Loads the SDK with the first large payload. The container must exist. Give the account a lifecycle rule that removes leftovers after some 120
 * days, which must be longer than messages and dead letters live.
 */
export function blobPayloads(options: BlobPayloadsOptions): PayloadStore {
  const { container } = options;
  if (typeof container !== 'string' || !/^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(container)) {
    throw config(
      `blobPayloads() expects container to be 3 to 63 small letters, digits and single hyphens, got ${shown(container)}.`,
    );
  }
  const failure = { service: 'Blob storage', where: `container ${container}` };
  const payloads = cloudPayloads(
    'blobPayloads()',
    options.prefix,
    () => openBlobs(options),
    (during, error) => storageError(failure, during, error),
  );
  checkStorage(options, 'blobPayloads()');
  return payloads;
}

export interface BlobPayloadsOptions extends StorageOptions {
  /** 3 to 63 lower-case letters, digits and hyphens. */
  readonly container: string;
  /** Prefix of every key; use it in a lifecycle rule. @default 'longshore/claims/' */
  readonly prefix?: string;
}

const timeoutMs = 60_000;
const retryOptions = { maxTries: 4, retryDelayInMs: 250, maxRetryDelayInMs: 3_000 };

async function openBlobs(options: BlobPayloadsOptions): Promise<PayloadStore> {
  const { BlobServiceClient } = await loadSdk();
  const access = storageAccess(options);
  const service =
    'connectionString' in access
      ? BlobServiceClient.fromConnectionString(access.connectionString, { retryOptions })
      : new BlobServiceClient(access.endpoint, access.credential as never, { retryOptions });
  const container = service.getContainerClient(options.container);
  const limited = () => ({ abortSignal: AbortSignal.timeout(timeoutMs) });
  return {
    async put(name, bytes) {
      const blobHTTPHeaders = { blobContentType: 'application/json' };
      await container
        .getBlockBlobClient(name)
        .upload(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), bytes.byteLength, {
          ...limited(),
          blobHTTPHeaders,
        });
    },
    async get(name, maxBytes) {
      try {
        const found = await container.getBlobClient(name).download(0, undefined, limited());
        const body = found.readableStreamBody as (NodeJS.ReadableStream & { destroy(): void }) | undefined;
        if ((found.contentLength ?? 0) > maxBytes) {
          body?.destroy();
          return new Uint8Array();
        }
        const chunks: Uint8Array[] = [];
        for await (const chunk of body ?? []) chunks.push(Buffer.from(chunk));
        return Buffer.concat(chunks);
      } catch (error) {
        if (codeOf(error) === 'BlobNotFound') return null;
        throw error;
      }
    },
    async delete(name) {
      await container.getBlobClient(name).deleteIfExists(limited());
    },
  };
}

const loadSdk = () => import('@azure/storage-blob').catch(optional('@azure/storage-blob'));
