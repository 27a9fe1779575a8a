/** Large payloads in Blob storage, on Azurite with the real SDK, and through the functions and Service Bus. */

import { BlobServiceClient } from '@azure/storage-blob';
import { beforeAll, describe, expect, it } from 'vitest';
import { blobPayloads } from '../../../functions/azure/index.ts';
import { shared } from '../../kit/shared/shared.ts';
import { describePayloads } from '../../testing/laws/payload-store.ts';
import { openFunctionApp } from './kit.ts';

let connectionString: string;
let service: BlobServiceClient;
let count = 0;

beforeAll(async () => {
  ({ connectionString } = await shared('azurite'));
  service = BlobServiceClient.fromConnectionString(connectionString);
});

const prefix = 'shop/claims/';

async function openContainer() {
  const container = `claims-${++count}`;
  const client = service.getContainerClient(container);
  await client.create();
  const where = { container, prefix };
  const nobody = connectionString.replace(/BlobEndpoint=[^;]*/, 'BlobEndpoint=http://127.0.0.1:1/longshore');
  return {
    container,
    payloads: blobPayloads({ ...where, connectionString }),
    peer: blobPayloads({ ...where, connectionString }),
    unreachable: blobPayloads({ ...where, connectionString: nobody }),
    async keys() {
      const names: string[] = [];
      for await (const { name } of client.listBlobsFlat()) names.push(name.slice(prefix.length));
      return names;
    },
    close: async () => {
      await client.delete();
    },
  };
}

describePayloads('blobPayloads()', { open: openContainer }, { describe, it });

describe('a job that is too large for Service Bus', () => {
  it('travels through a function with a key and a digest, and leaves nothing behind', async () => {
    const bench = await openContainer();
    const t = await openFunctionApp({ payloads: bench.payloads });
    const name = 'ü'.repeat(200_000);
    const id = await t.enqueue(name);
    expect(await bench.keys()).toEqual([expect.stringMatching(`^${id}\\.[0-9a-f]{16}$`)]);
    await t.trigger.poll('mail');
    expect(t.settledAs()).toEqual(['acked 1']);
    expect(t.ran).toEqual([name]);
    expect(await bench.keys()).toEqual([]);
    expect(await t.client.status(id)).toMatchObject({ status: 'completed' });
    await t.close();
    await bench.close();
  });

  it('keeps its payload over a retry and with a dead letter', async () => {
    const bench = await openContainer();
    const t = await openFunctionApp({ payloads: bench.payloads });
    const name = 'x'.repeat(400_000);
    t.behaviour.set(name, () => {
      throw new Error('no');
    });
    const id = await t.enqueue(name);
    for (let i = 0; i < 3; i++) {
      await t.trigger.poll('mail');
      t.clock.advance(61_000);
    }
    expect(t.settledAs()).toEqual(['requeued 1', 'requeued 2', 'dead-lettered 3']);
    expect(await bench.keys()).toHaveLength(1);
    t.behaviour.clear();
    expect(await t.backend.admin!.deadLetters.retry([id])).toBe(1);
    await t.trigger.poll('mail');
    expect(t.ran).toHaveLength(4);
    expect(await bench.keys()).toEqual([]);
    await t.close();
    await bench.close();
  });

  it('is still refused where the store keeps no payloads', async () => {
    const t = await openFunctionApp();
    await expect(t.enqueue('x'.repeat(400_000))).rejects.toMatchObject({ code: 'LIMIT' });
    await t.close();
  });
});

describe('what blobPayloads() is given', () => {
  it.each([
    [{}, /container to be 3 to 63 small letters.*got undefined/],
    [{ container: 'Claims' }, /got "Claims"/],
    [{ container: 'a--b' }, /got "a--b"/],
    [{ container: 'claims', prefix: '/x' }, /prefix to be text that does not begin with "\/"/],
    [{ container: 'claims' }, /either connectionString or endpoint, got neither/],
  ])('is refused with CONFIG: %o', (options, message) => {
    expect(() => blobPayloads(options as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG', message: expect.stringMatching(message) }),
    );
  });

  it('is asked about when it is wrong: a container that is not there', async () => {
    const payloads = blobPayloads({ container: 'nowhere-at-all', connectionString });
    const expected = {
      code: 'CONFIG',
      message: expect.stringMatching(/container nowhere-at-all.*Create the container/),
    };
    await expect(payloads.put('a', new Uint8Array(1))).rejects.toMatchObject(expected);
    await expect(payloads.get('a', 1)).rejects.toMatchObject(expected);
    await expect(payloads.delete('a')).rejects.toMatchObject(expected);
  });
});
