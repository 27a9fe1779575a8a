/** Where the signing keys come from when the app brings no key ring. */

import { dirname, join } from 'node:path';
import { crypto } from '../base/crypto.ts';
import { config } from '../base/errors.ts';
import { type KeyRing, keyRing, parseSigningKeys } from './signing.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Set by the platforms themselves; there a key of one's own machine would differ on every instance. */
const cloudMarks = [
  'AWS_LAMBDA_FUNCTION_NAME',
  'FUNCTIONS_WORKER_RUNTIME',
  'WEBSITE_INSTANCE_ID',
  'KUBERNETES_SERVICE_HOST',
];

export function signingFromEnv(env: Env, folder: string, onDevelopmentKey: (path: string) => void): KeyRing {
  const text = env.LONGSHORE_SIGNING_KEYS?.trim();
  if (text) return keyRing(parseSigningKeys(text));
  const mark = env.NODE_ENV === 'production' ? 'NODE_ENV=production' : cloudMarks.find((name) => env[name]);
  if (mark) {
    throw config(
      `Expected signing keys in production (${mark}), got none. Set LONGSHORE_SIGNING_KEYS to kid:base64, made with \`openssl rand -base64 32\`.`,
    );
  }
  const path = join(folder, '.longshore', 'signing-key');
  const ring = keyRing(parseSigningKeys(developmentKey(path)));
  onDevelopmentKey(path);
  return ring;
}

function developmentKey(path: string): string {
  // Only here, because a program with keys of its own need not load it.
  const { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } =
    process.getBuiltinModule('node:fs');
  if (existsSync(path)) return readFileSync(path, 'utf8');
  const draft = `${path}.${process.pid}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(draft, `dev:${crypto().randomBytes(32).toString('base64')}`, { mode: 0o600 });
    // A link fails when the name exists: of two processes that start together one makes the key, both read it whole.
    linkSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw config(
        `Could not keep a development key at ${path} (${(cause as Error).message}). Set LONGSHORE_SIGNING_KEYS instead.`,
      );
    }
  } finally {
    try {
      rmSync(draft, { force: true });
    } catch {
      // Where no folder could be made there is no draft either; that error is on its way already.
    }
  }
  return readFileSync(path, 'utf8');
}

/** For threads and processes that run handlers: they have no use for the keys, and code in them could read them. */
export function environmentWithoutKeys(): Env {
  const { LONGSHORE_SIGNING_KEYS: _, ...rest } = process.env;
  return rest;
}
