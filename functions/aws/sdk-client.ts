/** What the clients of the AWS SDK have in common. */

import { isOnThisMachine } from '../../core/base/loopback.ts';

/** A client of the SDK. Described by its shape, so that a program without its types compiles. */
export interface SdkClient {
  send(command: never): Promise<unknown>;
}

/**
 * For `import('@aws-sdk/…').catch(optional)`. Bundlers follow every import of longshore/aws, and take one with a catch for optional:
 * an app installs the SDKs of the services that it uses.
 */
export const optional = (error: unknown): never => {
  throw error;
};

interface Target {
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
}

/** @param timeoutMs of one request. Without an end, a request that is never answered would hold its job for ever. */
export function settingsFor({ region, endpoint }: Target, timeoutMs: number) {
  return {
    requestHandler: { connectionTimeout: 2_000, requestTimeout: timeoutMs, throwOnRequestTimeout: true },
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
  };
}

/** Emulators take any credentials. The SDK must not even look for real ones. */
export function localAccess({ endpoint }: Target) {
  if (endpoint === undefined || !isOnThisMachine(endpoint)) return {};
  return { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
}
