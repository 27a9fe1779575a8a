/** What the clients of the AWS SDK have in common. */

import { isOnThisMachine } from '../../core/base/loopback.ts';
import { unusable } from '../../core/base/optional.ts';
import { guarded } from './lambda/guard.ts';

/** A client of the SDK. Described by its shape, so that a program without its types compiles. */
export interface SdkClient {
  send(command: never): Promise<unknown>;
}

interface Target {
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
}

/**
 * The client that was given, or one of our own; either may send only where the guard allows it.
 * @param goesTo where the SDK sends requests, as far as that is known
 * @param sdk the name of its package
 * @param timeoutMs of one request. Without an end, a request that is never answered would hold its job for ever.
 */
export function openClient<Client extends SdkClient>(
  given: SdkClient | undefined,
  { region, endpoint }: Target,
  goesTo: string | undefined,
  timeoutMs: number,
  sdk: string,
  create: (settings: object) => Client,
): Client {
  if (given) return guarded(given as Client);
  // Emulators take any credentials. The SDK must not even look for real ones.
  const isLocal = isOnThisMachine(goesTo ?? '');
  const settings = {
    requestHandler: { connectionTimeout: 2_000, requestTimeout: timeoutMs, throwOnRequestTimeout: true },
    ...(isLocal && { region: 'us-east-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }),
    ...(region !== undefined && { region }),
    ...(endpoint !== undefined && { endpoint }),
  };
  return guarded(created(sdk, create, settings), !isLocal);
}

function created<Client>(sdk: string, create: (settings: object) => Client, settings: object): Client {
  try {
    return create(settings);
  } catch (cause) {
    throw unusable(sdk, cause);
  }
}

/** @param service as in AWS_ENDPOINT_URL_S3 */
export function endpointFor(service: string, { endpoint }: Target): string | undefined {
  const { AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: ignored, AWS_ENDPOINT_URL: all } = process.env;
  return endpoint ?? (ignored === 'true' ? undefined : process.env[`AWS_ENDPOINT_URL_${service}`] || all);
}
