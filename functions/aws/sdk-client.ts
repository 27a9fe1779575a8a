/** Common parts of the clients of the AWS SDK. */

import { config, LongshoreError } from '../../core/base/errors.ts';
import { toError } from '../../core/base/failure.ts';
import { isOnThisMachine } from '../../core/base/loopback.ts';
import { unusable } from '../../core/base/optional.ts';

/** A client of the SDK. Typed by its shape, so that programs without the SDK's types compile. */
export interface SdkClient {
  send(command: never): Promise<unknown>;
}

interface Target {
  /** Used instead of a new client. */
  readonly client?: SdkClient | undefined;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
}

interface Service {
  /** Name of the package. */
  readonly sdk: string;
  /** Where the SDK sends requests, as far as that is known. */
  readonly goesTo: string | undefined;
  /** Timeout of one request. Without it a request that is never answered would block its job for ever. */
  readonly timeoutMs: number;
}

/** The given client, or a new one. Either may send requests only where the guard allows it. Closing leaves a given client open. */
export function openClient<Client extends SdkClient>(
  { client: given, region, endpoint }: Target,
  { sdk, goesTo, timeoutMs }: Service,
  create: (settings: object) => Client,
): Client {
  if (given) return guarded(given as Client);
  // Emulators accept any credentials. The SDK must not even look for real ones.
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

type Env = Readonly<Record<string, string | undefined>>;

/*
 * A developer's machine or a CI job often has credentials for AWS, and a test could create, fill or empty real queues. So requests reach AWS
 * only in production, or if a variable allows it.
 */

/** Set by services that run containers. A worker there needs no `LONGSHORE_ALLOW_AWS`. */
const cloudMarks = [
  'AWS_EXECUTION_ENV',
  'ECS_CONTAINER_METADATA_URI_V4',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'KUBERNETES_SERVICE_HOST',
];

/** Host names of AWS, of its partitions and of its dual-stack endpoints. */
const realHost =
  /(^|\.)(amazonaws\.(com|com\.cn|eu)|api\.(aws|amazonwebservices\.com\.cn)|on\.aws|(c2s\.ic|sc2s\.sgov|csp\.hci\.ic)\.gov)$/i;

const isSet = (value: string | undefined): boolean =>
  value !== undefined && !/^(|0|false|no|off)$/i.test(value);

/** Why a request to this host is refused; `null` = it is allowed. */
export function refusalOf(hostname: string, env: Env): string | null {
  if (!realHost.test(hostname) || isSet(env.LONGSHORE_ALLOW_AWS)) return null;
  if (isSet(env.AWS_LAMBDA_FUNCTION_NAME) && !isSet(env.AWS_SAM_LOCAL)) return null;
  const here = localSign(env);
  return here && `Expected an endpoint on this machine (${here}), got ${hostname}`;
}

function localSign(env: Env): string | null {
  if (isSet(env.CI)) return 'CI is set';
  const { NODE_ENV: mode = '' } = env;
  if (mode === 'test' || mode === 'development') return `NODE_ENV=${mode}`;
  if (mode !== '' || cloudMarks.some((name) => env[name])) return null;
  return 'NODE_ENV is not production';
}

interface Command {
  readonly middlewareStack: { add(middleware: unknown, options: unknown): void };
}

/**
 * The client with a check of every request before it is signed and sent, however its host was chosen.
 * @param hasRealCredentials which a server on this machine must not receive
 */
export function guarded<Client extends { send(command: never): Promise<unknown> }>(
  client: Client,
  hasRealCredentials = false,
): Client {
  const send = (command: Command): Promise<unknown> => {
    command.middlewareStack.add(refuse(hasRealCredentials), { step: 'build', name: 'longshoreGuard' });
    return client.send(command as never);
  };
  return new Proxy(client, {
    get(target, name) {
      if (name === 'send') return send;
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

type Handler = (args: { readonly request?: { readonly hostname?: string } }) => unknown;

const refuse =
  (hasRealCredentials: boolean) =>
  (next: Handler): Handler =>
  (args) => {
    const { hostname = '' } = args.request ?? {};
    const problem = refusalOf(hostname, process.env);
    if (problem !== null) {
      throw config(
        `${problem}. Name a local server with endpoint or AWS_ENDPOINT_URL; if you mean AWS itself, set NODE_ENV=production or LONGSHORE_ALLOW_AWS=1.`,
      );
    }
    if (hasRealCredentials && isOnThisMachine(`http://${hostname}`)) {
      throw config(
        `Expected endpoint or AWS_ENDPOINT_URL to name a server on this machine, got ${hostname} from a profile of AWS. The request would be signed with your own credentials.`,
      );
    }
    return next(args);
  };

/** How to fix the configuration, by the name of the SDK's error. */
export type Remedies = Readonly<Record<string, string>>;

const credentials = 'Check the credentials.';
const always: Remedies = {
  UnrecognizedClientException: credentials,
  InvalidAccessKeyId: credentials,
  InvalidClientTokenId: credentials,
  ExpiredToken: credentials,
  ExpiredTokenException: credentials,
  SignatureDoesNotMatch: credentials,
  // This error has no name of its own.
  'Region is missing': 'Give the region option, or set AWS_REGION.',
  CredentialsProviderError: 'Give the process credentials: a role, a profile or AWS_ACCESS_KEY_ID.',
};

/** @param failed for people: `S3 failed while fetching a payload (bucket jobs)` */
export function sdkError(failed: string, cause: unknown, remedies: Remedies): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const { name, message, code = '' } = toError(cause) as NodeJS.ErrnoException;
  const remedy = remedies[name] ?? remedies[code] ?? always[name] ?? always[message];
  const text = `${failed}: ${message || name}`;
  const sentence = /[.!?]$/.test(text) ? text : `${text}.`;
  if (remedy === undefined) return new LongshoreError('BACKEND', sentence, { cause });
  return new LongshoreError('CONFIG', `${sentence} ${remedy}`, { cause });
}
