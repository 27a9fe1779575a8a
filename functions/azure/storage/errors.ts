/** Errors of the storage SDKs as LongshoreErrors, with what to do about them. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { messageOf } from '../sdk-errors.ts';

/** How to fix the configuration, by the code of the service. */
const remedies: Readonly<Record<string, string>> = {
  TableNotFound: 'Create the table with `longshore migrate` or a template.',
  ContainerNotFound: 'Create the container, or correct its name.',
  AuthenticationFailed: 'Check the account key, and the clock of this machine.',
  AuthorizationFailure: 'Check the account key or the role, and the firewall of the storage account.',
  AuthorizationPermissionMismatch:
    'Grant the role: Storage Table Data Contributor for tables, Storage Blob Data Contributor for blobs. It takes some minutes to arrive.',
  AuthorizationResourceTypeMismatch: 'Take a connection string of the whole account.',
  KeyBasedAuthenticationNotPermitted: 'This account allows no keys: give endpoint and credential instead.',
  ENOTFOUND: 'Check the name of the storage account.',
};

export interface StorageFailure {
  /** For people: `Table storage`. */
  readonly service: string;
  /** `table jobs` */
  readonly where: string;
}

/** @param during for people: `reading` */
export function storageError(
  { service, where }: StorageFailure,
  during: string,
  cause: unknown,
): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const code = codeOf(cause);
  const remedy = remedies[code ?? ''];
  const message = saidBy(cause);
  const failed = `${service} failed while ${during} (${where}): ${code === null || message.includes(code) ? '' : `${code}: `}${message}.`;
  if (remedy === undefined) return new LongshoreError('BACKEND', failed, { cause });
  return new LongshoreError('CONFIG', `${failed} ${remedy}`, { cause });
}

/** The message of the service, without the time and the id of the request. */
function saidBy(error: unknown): string {
  const { odataError } = detailsOf(error) as { odataError?: { message?: { value?: unknown } } };
  const said = odataError?.message?.value;
  const whole = typeof said === 'string' ? said : messageOf(error);
  const text = /<Message>([^<]*)/.exec(whole)?.[1] ?? whole; // some answers are XML
  return text.split('\n', 1)[0]!.replace(/^\d+:|\.$/g, '');
}

const detailsOf = (error: unknown): object => (error as { details?: object } | null)?.details ?? {};

/** The code of the service, or else of the SDK or the network. */
export function codeOf(error: unknown): string | null {
  const { code } = (error ?? {}) as { code?: unknown };
  const { odataError, errorCode } = detailsOf(error) as {
    odataError?: { code?: unknown };
    errorCode?: unknown;
  };
  const known = odataError?.code ?? errorCode ?? code;
  return typeof known === 'string' ? known : null;
}
