/** The shop's files in a container of Blob storage. */

import type { Readable } from 'node:stream';
import type { ContainerClient } from '@azure/storage-blob';
import { type StorageOptions, storageAccess } from '../../functions/azure/storage/access.ts';
import { type Files, missing } from '../app/files.ts';

/** @param where the account, read with the first file, as the SDK is loaded */
export function blobFiles(container: string, where: () => StorageOptions): Files {
  let opened: ContainerClient | null = null;

  async function open(): Promise<ContainerClient> {
    const { BlobServiceClient } = await import('@azure/storage-blob');
    const access = storageAccess(where());
    const service =
      'connectionString' in access
        ? BlobServiceClient.fromConnectionString(access.connectionString)
        : new BlobServiceClient(access.endpoint, access.credential as never);
    return service.getContainerClient(container);
  }

  return {
    async read(name, range) {
      opened ??= await open();
      const count = range && range.end - range.start + 1;
      const download = opened.getBlobClient(name).download(range?.start, count);
      const { readableStreamBody } = await download.catch((error: { statusCode?: number }) => {
        throw error.statusCode === 404 ? missing(name) : error;
      });
      return readableStreamBody as Readable;
    },
    async write(name, content) {
      opened ??= await open();
      await opened.getBlockBlobClient(name).upload(content, Buffer.byteLength(content));
    },
  };
}
