/** A registry of npm that has some tarballs of this machine, and leads to the usual registry for everything else. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

interface Release {
  /** Its package.json is in it. */
  readonly folder: string;
  readonly tarball: string;
}

/** @param upstream the usual registry, with a slash at its end */
export async function startRegistry(releases: readonly Release[], upstream: string) {
  const answers = new Map<string, Buffer | string>();
  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url!.slice(1));
    const own = answers.get(path);
    if (own === undefined) response.writeHead(302, { location: `${upstream}${request.url!.slice(1)}` });
    response.end(own);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  for (const { folder, tarball } of releases) {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const { name, version } = manifest;
    const data = readFileSync(tarball);
    const integrity = `sha512-${createHash('sha512').update(data).digest('base64')}`;
    const file = `${name}/-/${name}-${version}.tgz`;
    const dist = { tarball: `${url}${file}`, integrity };
    const packument = {
      name,
      'dist-tags': { latest: version },
      versions: { [version]: { ...manifest, dist } },
    };
    answers.set(name, JSON.stringify(packument));
    answers.set(file, data);
  }
  return { url, close: () => void server.close() };
}
