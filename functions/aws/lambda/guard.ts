/**
 * A developer's machine or a CI job often has credentials for AWS, and a test could create, fill or empty real queues with
 * them. So a request reaches AWS only in production, or where a flag allows it.
 */

import { config } from '../../../core/base/errors.ts';
import { isOnThisMachine } from '../../../core/base/loopback.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Set by services that run containers. A worker there needs no flag. */
const cloudMarks = [
  'AWS_EXECUTION_ENV',
  'ECS_CONTAINER_METADATA_URI_V4',
  'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'KUBERNETES_SERVICE_HOST',
];

/** AWS's own names, those of its partitions and its dual-stack endpoints. */
const realHost =
  /(^|\.)(amazonaws\.(com|com\.cn|eu)|api\.(aws|amazonwebservices\.com\.cn)|on\.aws|(c2s\.ic|sc2s\.sgov|csp\.hci\.ic)\.gov)$/i;

const isSet = (value: string | undefined): boolean =>
  value !== undefined && !/^(|0|false|no|off)$/i.test(value);

/** Why a request to this host must not be made from here; `null` when it may. */
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
 * The client, with a check of every request before it is signed and sent, whatever decided on its host.
 * @param hasRealCredentials which a server on this machine must not get
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
