/** The example's files in a container, on Azurite with the real SDK. */

import { BlobServiceClient } from '@azure/storage-blob';
import { describe } from 'vitest';
import { blobFiles } from '../../../examples/azure/files.ts';
import { shared } from '../../kit/shared/shared.ts';
import { describeFiles } from '../../unit/examples/shop-files.ts';

describe('blobFiles()', () => {
  let count = 0;
  describeFiles(async () => {
    const { connectionString } = await shared('azurite');
    const container = `shop-${process.pid}-${++count}`;
    await BlobServiceClient.fromConnectionString(connectionString).getContainerClient(container).create();
    const where = () => ({ connectionString });
    return [blobFiles(container, where), blobFiles(container, where)];
  });
});
