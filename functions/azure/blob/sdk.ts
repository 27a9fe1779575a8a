/** The only file that imports the SDK. It is loaded on first use: that takes longer than all the rest. */

import { optional } from '../../../core/base/optional.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { type StorageOptions, storageAccess } from '../storage/access.ts';
import { codeOf } from '../storage/errors.ts';

export interface BlobPayloadsOptions extends StorageOptions {
  /** 3 to 63 small letters, digits and hyphens. */
  readonly container: string;
  /** What stands before every key; a lifecycle rule can name it. @default 'longshore/claims/' */
  readonly prefix?: string;
}

const timeoutMs = 60_000;
const retryOptions = { maxTries: 4, retryDelayInMs: 250, maxRetryDelayInMs: 3_000 };

export async function openBlobs(options: BlobPayloadsOptions): Promise<PayloadStore> {
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
