/** Access to a storage account, for tables and blobs. */

import { config, shown } from '../../../core/base/errors.ts';
import { managedIdentity } from '../identity.ts';
import type { Credential } from '../service-bus/access.ts';

export interface StorageOptions {
  /** `DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…`, or `UseDevelopmentStorage=true`. Use either this or `endpoint`. */
  readonly connectionString?: string;
  /** `https://shop.table.core.windows.net` or `https://shop.blob.core.windows.net`, for an identity. */
  readonly endpoint?: string;
  /** For example `new DefaultAzureCredential()` of `@azure/identity`. @default the app's managed identity */
  readonly credential?: Credential;
}

export type StorageAccess =
  | { readonly connectionString: string }
  | { readonly endpoint: string; readonly credential: Credential };

/** Throws `CONFIG` unless the options name one way to connect. Does not need an identity yet. */
export function checkStorage(options: StorageOptions, caller: string): void {
  const { connectionString, endpoint, credential } = options;
  if ((connectionString === undefined) === (endpoint === undefined)) {
    const got = connectionString === undefined ? 'neither' : 'both';
    throw config(`${caller} expects either connectionString or endpoint, got ${got}.`);
  }
  // A connection string is a secret: no part of it may appear in an error.
  if (connectionString !== undefined && !isConnectionString(connectionString)) {
    throw config(
      `${caller} expects connectionString to be like DefaultEndpointsProtocol=https;AccountName=…;AccountKey=…, got something else.`,
    );
  }
  if (endpoint !== undefined && !/^https:\/\/[^/?#@]+(\/[\w-]+)?\/?$/.test(endpoint)) {
    throw config(
      `${caller} expects endpoint to be like https://shop.table.core.windows.net, got ${isSigned(endpoint) ? 'a URL with a query' : shown(endpoint)}. An identity works over https only.`,
    );
  }
  if (credential !== undefined && typeof credential?.getToken !== 'function') {
    throw config(
      `${caller} expects credential to be like new DefaultAzureCredential() of @azure/identity, got ${shown(credential)}.`,
    );
  }
}

/** Called on first use, when the host has set its variables. */
export function storageAccess({
  connectionString,
  endpoint: given,
  credential,
}: StorageOptions): StorageAccess {
  if (connectionString !== undefined) return { connectionString };
  const endpoint = given!.replace(/\/$/, ''); // the portal shows it with a slash at its end
  const identity = credential ?? managedIdentity(process.env, null);
  if (identity) return { endpoint, credential: identity };
  throw config(
    `The storage endpoint ${endpoint} needs an identity, and this app has none. Switch on its managed identity, or give a credential: new DefaultAzureCredential() of @azure/identity.`,
  );
}

/** Whether it uses unencrypted requests, as an emulator's connection string does. */
export const isPlain = (connectionString: string): boolean =>
  /(^|;)\s*(UseDevelopmentStorage=true|DefaultEndpointsProtocol=http|(Table|Blob)Endpoint=http:[^;]*)\s*(;|$)/i.test(
    connectionString,
  );

const isConnectionString = (text: unknown): boolean =>
  typeof text === 'string' &&
  (/(^|;)\s*UseDevelopmentStorage=true/i.test(text) ||
    (/(^|;)\s*DefaultEndpointsProtocol=/i.test(text) && /(^|;)\s*AccountKey=/i.test(text)) ||
    /(^|;)\s*SharedAccessSignature=/i.test(text));

/** A query may contain a signature, which is a secret. */
const isSigned = (endpoint: unknown): boolean => typeof endpoint === 'string' && endpoint.includes('?');
