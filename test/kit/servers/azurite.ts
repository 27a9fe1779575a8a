/** A storage account of the tests' own (Azurite): real requests of the real SDKs, over loopback, in memory, gone with the test file. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Azurite {
  readonly connectionString: string;
  close(): Promise<void>;
}

/** Azurite decodes each piece of a JSON body by itself, and so breaks letters that lie across two. Table storage does not. */
const wholeLetters = `
  const { Server } = require('node:http');
  const { emit } = Server.prototype;
  Server.prototype.emit = function (event, request, ...rest) {
    if (event === 'request' && /json/.test(request.headers['content-type'])) request.setEncoding('utf8');
    return emit.call(this, event, request, ...rest);
  };`;
const account = 'longshore';
const key = Buffer.alloc(32, 7).toString('base64');
const patienceMs = 60_000;

export async function startAzurite(): Promise<Azurite> {
  const program = createRequire(import.meta.url).resolve('azurite/dist/src/azurite.js');
  const folder = mkdtempSync(join(tmpdir(), 'longshore-azurite-'));
  const ports = ['--blobPort', '0', '--queuePort', '0', '--tablePort', '0'];
  // Its telemetry would leave this machine.
  const quiet = ['--silent', '--disableTelemetry', '--inMemoryPersistence', '--skipApiVersionCheck'];
  const preload = join(folder, 'whole-letters.cjs');
  writeFileSync(preload, wholeLetters);
  const child = spawn(process.execPath, ['--require', preload, program, ...quiet, ...ports], {
    cwd: folder,
    env: { ...process.env, AZURITE_ACCOUNTS: `${account}:${key}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const close = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL'); // it keeps nothing that would have to be written
      await once(child, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { Blob, Table } = await addressesOf(child);
    const endpoints = `BlobEndpoint=${Blob}/${account};TableEndpoint=${Table}/${account}`;
    return {
      connectionString: `DefaultEndpointsProtocol=http;AccountName=${account};AccountKey=${key};${endpoints}`,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** By name of the service; Azurite says them one by one, the table's last. */
async function addressesOf(child: ChildProcess): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const timer = setTimeout(() => child.kill('SIGKILL'), patienceMs);
  try {
    for await (const line of createInterface({ input: child.stdout! })) {
      const [, service, address] =
        /^Azurite (\w+) service is successfully listening at (\S+)/.exec(line) ?? [];
      if (service && address) found[service] = address;
      if (service === 'Table') {
        child.stdout!.resume();
        return found;
      }
    }
  } finally {
    clearTimeout(timer);
  }
  throw new Error(`Azurite ended before it listened. It comes with npm ci, and needs nothing else.`);
}
