/** The identity that Azure gives to an app: its token comes from an endpoint beside the app, so no package is needed. */

import { config, LongshoreError } from '../../core/base/errors.ts';
import type { Credential } from './service-bus/connection.ts';

export interface IdentityEndpoint {
  readonly url: string;
  /** Proves that whoever asks is the app. */
  readonly header: string;
  /** Of an identity that was assigned by hand; `null` = the app's own. */
  readonly clientId: string | null;
}

interface Answer {
  readonly access_token?: unknown;
  /** Epoch seconds, as a text. */
  readonly expires_on?: unknown;
}

/** The endpoint's version, which Azure keeps: https://learn.microsoft.com/azure/app-service/overview-managed-identity */
const version = '2019-08-01';
const timeoutMs = 10_000;

/** `null` where the app has no identity: not in Azure, or not switched on. */
export function identityEndpoint(
  env: Readonly<Record<string, string | undefined>>,
  clientId: string | null,
): IdentityEndpoint | null {
  const { IDENTITY_ENDPOINT: url, IDENTITY_HEADER: header } = env;
  return url && header ? { url, header, clientId } : null;
}

/** The SDK asks again before a token ends, and keeps it until then. */
export function managedIdentity({ url, header, clientId }: IdentityEndpoint): Credential {
  return {
    async getToken(scopes) {
      const [scope = ''] = typeof scopes === 'string' ? [scopes] : scopes;
      const asked = new URL(url);
      asked.searchParams.set('api-version', version);
      asked.searchParams.set('resource', scope.replace(/\/\.default$/, ''));
      if (clientId !== null) asked.searchParams.set('client_id', clientId);
      const { access_token: token, expires_on: end } = await ask(asked, header);
      if (typeof token !== 'string' || token === '' || !Number.isFinite(Number(end))) {
        throw new LongshoreError(
          'BACKEND',
          'Expected a token from the identity endpoint, got an answer without.',
        );
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
  // Its text is not passed on: it may repeat what it was asked.
  if (response.status >= 400 && response.status < 500) {
    throw config(
      `The identity endpoint refused with ${response.status}. Assign the identity to the app, and name it in …__clientId if it is not the app's own.`,
    );
  }
  if (!response.ok)
    throw new LongshoreError('BACKEND', `The identity endpoint failed with ${response.status}.`);
  return (await response.json()) as Answer;
}
