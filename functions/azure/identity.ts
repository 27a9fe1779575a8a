/** The managed identity of an app: a local endpoint issues its tokens, so no package is needed. */

import { config, LongshoreError } from '../../core/base/errors.ts';
import type { Credential } from './service-bus/access.ts';

interface Answer {
  readonly access_token?: unknown;
  /** Epoch seconds as text. */
  readonly expires_on?: unknown;
}

/** The version of the endpoint: https://learn.microsoft.com/azure/app-service/overview-managed-identity */
const version = '2019-08-01';
const timeoutMs = 10_000;

/**
 * `null` if the app has no identity: it is not in Azure, or the identity is not switched on. The SDK caches a token and requests a new one
 * before it expires.
 * @param clientId of a user-assigned identity; `null` = the app's own
 */
export function managedIdentity(
  { IDENTITY_ENDPOINT: url, IDENTITY_HEADER: header }: Readonly<Record<string, string | undefined>>,
  clientId: string | null,
): Credential | null {
  if (!url || !header) return null;
  return {
    async getToken(scopes) {
      const [scope = ''] = typeof scopes === 'string' ? [scopes] : scopes;
      const request = new URL(url);
      request.searchParams.set('api-version', version);
      request.searchParams.set('resource', scope.replace(/\/\.default$/, ''));
      if (clientId !== null) request.searchParams.set('client_id', clientId);
      const { access_token: token, expires_on: end } = await ask(request, header);
      if (typeof token !== 'string' || token === '' || !Number.isFinite(Number(end))) {
        throw new LongshoreError('BACKEND', 'The answer of the identity endpoint contains no token.');
      }
      return { token, expiresOnTimestamp: Number(end) * 1000 };
    },
  };
}

async function ask(url: URL, header: string): Promise<Answer> {
  let response: Response;
  try {
    response = await fetch(url, {
      headers: { 'X-IDENTITY-HEADER': header },
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error', // the header is a secret
    });
  } catch (cause) {
    throw new LongshoreError('BACKEND', 'The identity endpoint did not answer.', { cause });
  }
  // The response text is not shown: it may repeat the request.
  if (response.status >= 400 && response.status < 500) {
    throw config(
      `The identity endpoint refused with ${response.status}. Assign the identity to the app, and name it in …__clientId if it is not the app's own.`,
    );
  }
  if (!response.ok)
    throw new LongshoreError('BACKEND', `The identity endpoint failed with ${response.status}.`);
  return (await response.json()) as Answer;
}
