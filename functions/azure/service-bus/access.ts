/** Access to a namespace: by a connection string or by an identity. */

import { config, shown } from '../../../core/base/errors.ts';

/** A `TokenCredential` of `@azure/identity`. Typed by its shape, so that programs without its types compile. */
export interface Credential {
  getToken(scopes: string | string[], options?: never): Promise<unknown>;
}

export type Access =
  | { readonly connectionString: string }
  | { readonly fullyQualifiedNamespace: string; readonly credential: Credential };

interface AccessOptions {
  readonly connectionString?: string | undefined;
  readonly fullyQualifiedNamespace?: string | undefined;
  readonly credential?: Credential | undefined;
}

/** Throws `CONFIG` unless the options name one way to connect. */
export function accessOf(options: AccessOptions): Access {
  const { connectionString, fullyQualifiedNamespace, credential } = options;
  if ((connectionString === undefined) === (fullyQualifiedNamespace === undefined)) {
    const got = connectionString === undefined ? 'neither' : 'both';
    throw config(
      `serviceBus() expects either connectionString, or fullyQualifiedNamespace and credential, got ${got}.`,
    );
  }
  if (connectionString !== undefined) return { connectionString: checkedString(connectionString) };
  if (typeof fullyQualifiedNamespace !== 'string' || !hostPattern.test(fullyQualifiedNamespace)) {
    throw config(
      `Expected fullyQualifiedNamespace to be like shop.servicebus.windows.net, got ${shown(fullyQualifiedNamespace)}.`,
    );
  }
  if (typeof credential?.getToken !== 'function') {
    throw config(
      `Expected a credential beside fullyQualifiedNamespace, got ${shown(credential)}. Use new DefaultAzureCredential() of @azure/identity.`,
    );
  }
  return { fullyQualifiedNamespace, credential };
}

const hostPattern = /^[a-z0-9][a-z0-9.-]*[a-z0-9]$/i;

/** A connection string is a secret: no part of it may appear in an error. */
function checkedString(text: unknown): string {
  if (typeof text !== 'string' || !/(^|;)\s*Endpoint=sb:\/\/[^;]+/i.test(text)) {
    throw config(
      'Expected connectionString to be like Endpoint=sb://shop.servicebus.windows.net;SharedAccessKeyName=…;SharedAccessKey=…, got something else.',
    );
  }
  const { host } = new URL(text.replace(/^.*Endpoint=sb:/i, 'http:').replace(/;.*$/, ''));
  if (/(^|;)\s*EntityPath=/i.test(text)) {
    throw config(
      `The connection string for ${host} is for a single queue (EntityPath). Dead letters need other queues, too: use a connection string of the namespace.`,
    );
  }
  return text;
}
