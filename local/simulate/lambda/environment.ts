/** What a simulated function sees: nothing that leads to a real account. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isOnThisMachine } from '../../../core/base/loopback.ts';

export const region = 'us-east-1';
export const credentials = { accessKeyId: 'test', secretAccessKey: 'test' } as const;

export interface FunctionPlace {
  readonly folder: string;
  readonly sqsEndpoint: string;
  readonly queueUrl: string;
  /** Where the packages are that are not in the bundle. */
  readonly cwd: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Every AWS service is looked for at the SQS endpoint, unless an endpoint on this machine is set for it. */
export function environmentOf(outer: Env, { folder, sqsEndpoint, queueUrl, cwd }: FunctionPlace): Env {
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
    // Profiles of the user's, with their endpoints and accounts, are not read either.
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
