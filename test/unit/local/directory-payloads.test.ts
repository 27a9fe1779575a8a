import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { directoryPayloads } from '../../../local/index.ts';
import { describePayloads } from '../../testing/laws/payload-store.ts';

const scratch = () => mkdtemp(join(tmpdir(), 'longshore-claims-'));

async function open() {
  const folder = await scratch();
  await writeFile(join(folder, 'file'), '');
  const path = join(folder, 'claims');
  return {
    payloads: directoryPayloads(path),
    peer: directoryPayloads(path),
    unreachable: directoryPayloads(join(folder, 'file')), // no folder
    keys: () => readdir(path),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

describePayloads('directoryPayloads()', { open }, { describe, it });

describe('directoryPayloads()', () => {
  it('writes files that only their owner reads, and leaves no draft behind', async () => {
    const folder = await scratch();
    await directoryPayloads(folder).put('a', new Uint8Array(3));
    expect(await readdir(folder)).toEqual(['a']);
    expect((await stat(join(folder, 'a'))).mode & 0o777).toBe(0o600);
    await rm(folder, { recursive: true });
  });

  it.each([undefined, '', 7])('refuses %o as its folder', (path) => {
    expect(() => directoryPayloads(path as string)).toThrow(expect.objectContaining({ code: 'CONFIG' }));
  });
});
