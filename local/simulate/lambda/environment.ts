/** The environment of a simulated function: nothing in it leads to a real account. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isOnThisMachine } from '../../../core/base/loopback.ts';

export const region = 'us-east-1';
export const credentials = { accessKeyId: 'test', secretAccessKey: 'test' } as const;

export interface FunctionSettings {
  readonly folder: string;
  readonly sqsEndpoint: string;
  readonly queueUrl: string;
  /** Packages that are not in the bundle are looked for from here. */
  readonly cwd: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The SQS endpoint stands for every AWS service, unless the service has its own endpoint on this machine. */
export function environmentOf(outer: Env, { folder, sqsEndpoint, queueUrl, cwd }: FunctionSettings): Env {
  const kept = Object.entries(outer).filter(
    ([name, value]) => !/^(AWS_|NODE_)/.test(name) || (isEndpoint(name) && isOnThisMachine(value ?? '')),
  );
  return {
    AWS_ENDPOINT_URL: sqsEndpoint,
    ...Object.fromEntries(kept),
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_EC2_METADATA_DISABLED: 'true',
    // The user's profiles, with their endpoints and accounts, are not read.
    AWS_CONFIG_FILE: join(folder, 'no-config'),
    AWS_SHARED_CREDENTIALS_FILE: join(folder, 'no-credentials'),
    SQS_ENDPOINT: sqsEndpoint,
    QUEUE_URL: queueUrl,
    TMPDIR: folder,
    NODE_PATH: modulesAbove(cwd).join(':'),
  };
}

const isEndpoint = (name: string): boolean => name.startsWith('AWS_ENDPOINT_URL');

/** As a layer would bring them. */
function modulesAbove(cwd: string): string[] {
  const found: string[] = [];
  for (let at = cwd; ; at = dirname(at)) {
    const modules = join(at, 'node_modules');
    if (existsSync(modules)) found.push(modules);
    if (at === dirname(at)) return found;
  }
}
