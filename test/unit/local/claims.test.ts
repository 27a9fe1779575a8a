import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { directoryClaims } from '../../../local/index.ts';
import { describeClaims } from '../../testing/laws/claims.ts';

const scratch = () => mkdtemp(join(tmpdir(), 'longshore-claims-'));

async function open() {
  const folder = await scratch();
  await writeFile(join(folder, 'file'), '');
  const path = join(folder, 'claims');
  return {
    claims: directoryClaims(path),
    peer: directoryClaims(path),
    unreachable: directoryClaims(join(folder, 'file')), // no folder
    keys: () => readdir(path),
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

describeClaims('directoryClaims()', { open }, { describe, it });

describe('directoryClaims()', () => {
  it('writes files that only their owner reads, and leaves no draft behind', async () => {
    const folder = await scratch();
    await directoryClaims(folder).put('a', new Uint8Array(3));
    expect(await readdir(folder)).toEqual(['a']);
    expect((await stat(join(folder, 'a'))).mode & 0o777).toBe(0o600);
    await rm(folder, { recursive: true });
  });

  it.each([undefined, '', 7])('refuses %o as its folder', (path) => {
    expect(() => directoryClaims(path as string)).toThrow(expect.objectContaining({ code: 'CONFIG' }));
  });
});
