/** A trigger's connection is the name of a setting. It is read here as the Functions host reads it. */

import { config } from '../../core/base/errors.ts';
import { managedIdentity } from './identity.ts';
import { type Access, accessOf, type Credential } from './service-bus/access.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `NAME` holds a connection string, or `NAME__fullyQualifiedNamespace` holds a namespace that the app's identity may use. Throws `CONFIG` if
 * neither is set.
 */
export function accessFrom(
  name: string,
  credential: Credential | undefined,
  env: Environment = process.env,
): Access {
  const connectionString = env[name];
  const fullyQualifiedNamespace = env[`${name}__fullyQualifiedNamespace`];
  if (connectionString) return accessOf({ connectionString });
  if (!fullyQualifiedNamespace) {
    throw config(
      `Expected the setting ${name} (a connection string) or ${name}__fullyQualifiedNamespace (with an identity), got neither. Set it in the app settings, or in local.settings.json.`,
    );
  }
  const identity = credential ?? managedIdentity(env, env[`${name}__clientId`] ?? null);
  if (!identity) {
    throw config(
      `The setting ${name}__fullyQualifiedNamespace needs an identity, and this app has none. Switch on its managed identity, or give azure() a credential: new DefaultAzureCredential() of @azure/identity.`,
    );
  }
  return accessOf({ fullyQualifiedNamespace, credential: identity });
}

/** `%NAME%` in the name of a queue refers to a setting, as everywhere in a trigger. */
export function resolved(
  queues: Readonly<Record<string, string>>,
  env: Environment = process.env,
): Record<string, string> {
  const names = Object.entries(queues).map(([queue, entity]) => {
    const setting = settingIn(entity);
    const name = setting === null ? entity : env[setting];
    if (name) return [queue, name];
    throw config(
      `Expected the setting ${setting} to name the entity of queue "${queue}", got nothing. Set it in the app settings.`,
    );
  });
  return Object.fromEntries(names);
}

export const settingIn = (entity: string): string | null => /^%([\w.-]+)%$/.exec(entity)?.[1] ?? null;
