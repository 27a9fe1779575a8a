/** Where the signing keys come from when the app brings no key ring. */

import { dirname, join } from 'node:path';
import { crypto } from '../base/crypto.ts';
import { config, LongshoreError } from '../base/errors.ts';
import { type KeyRing, keyRing, parseSigningKeys, type SigningKey } from './signing.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Set by the platforms themselves; there a key of one's own machine would differ on every instance. */
const cloudMarks = [
  'AWS_LAMBDA_FUNCTION_NAME',
  'FUNCTIONS_WORKER_RUNTIME',
  'WEBSITE_INSTANCE_ID',
  'KUBERNETES_SERVICE_HOST',
  'ECS_CONTAINER_METADATA_URI_V4',
  'K_SERVICE', // Cloud Run
  'CLOUD_RUN_JOB',
  'CONTAINER_APP_NAME',
  'CONTAINER_APP_JOB_NAME',
];

export function signingFromEnv(env: Env, folder: string, onDevelopmentKey: (path: string) => void): KeyRing {
  const text = env.LONGSHORE_SIGNING_KEYS?.trim();
  if (text) return keyRing(parseSigningKeys(text));
  const mark = env.NODE_ENV === 'production' ? 'NODE_ENV=production' : cloudMarks.find((name) => env[name]);
  if (mark || text === '') {
    const where = mark ? `production (${mark})` : 'LONGSHORE_SIGNING_KEYS';
    throw config(
      `Expected signing keys in ${where}, got none. Set LONGSHORE_SIGNING_KEYS to kid:base64, made with \`openssl rand -base64 32\`.`,
    );
  }
  const path = developmentKeyPath(folder);
  const ring = keyRing(developmentKeys(path));
  onDevelopmentKey(path);
  return ring;
}

/** In the root of the workspace, because its packages share queues. Without one, in `folder`. */
export function developmentKeyPath(folder: string): string {
  const { existsSync, readFileSync } = fs();
  for (let at = folder; ; at = dirname(at)) {
    const manifest = join(at, 'package.json');
    const isRoot =
      existsSync(join(at, '.git')) ||
      existsSync(join(at, 'pnpm-workspace.yaml')) ||
      (existsSync(manifest) && readFileSync(manifest, 'utf8').includes('"workspaces"'));
    if (isRoot || at === dirname(at)) return join(isRoot ? at : folder, '.longshore', 'signing-key');
  }
}

/** The first signs, under an id that tells it from the key of another folder. `dev` verifies what earlier versions signed. */
export function developmentKeys(path: string): SigningKey[] {
  const [{ secret }] = parseSigningKeys(developmentKey(path)) as [SigningKey];
  return [`dev-${crypto().hash('sha256', secret).slice(0, 8)}`, 'dev'].map((kid) => ({ kid, secret }));
}

function developmentKey(path: string): string {
  try {
    if (!fs().existsSync(path)) makeKey(path);
    return readKey(path);
  } catch (cause) {
    if (cause instanceof LongshoreError) throw cause;
    throw config(
      `Could not keep a development key at ${path} (${(cause as Error).message}). Set LONGSHORE_SIGNING_KEYS instead.`,
    );
  }
}

function makeKey(path: string): void {
  const { linkSync, mkdirSync, rmSync, writeFileSync } = fs();
  const draft = `${path}.${process.pid}`;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(join(dirname(path), '.gitignore'), '*\n');
  writeFileSync(draft, `dev:${crypto().randomBytes(32).toString('base64')}`, { mode: 0o600 });
  try {
    // A link fails when the name exists: of two processes that start together one makes the key, both read it whole.
    linkSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
  } finally {
    rmSync(draft);
  }
}

/** Throws `CONFIG` for a key that somebody else may know or has put there. */
function readKey(path: string): string {
  const { readFileSync, statSync } = fs();
  const file = statSync(path);
  const user = process.getuid?.() ?? null; // Windows has neither users nor modes of this kind
  const isOurs = user === null || (file.uid === user && (file.mode & 0o077) === 0);
  if (file.isFile() && isOurs) return readFileSync(path, 'utf8');
  const got = `${file.isFile() ? 'a file' : 'something else'} of mode ${(file.mode & 0o777).toString(8)} and user ${file.uid}`;
  throw config(
    `Expected the development key ${path} to be a file that only user ${user} can read, got ${got}. Delete it for a new key, or set LONGSHORE_SIGNING_KEYS.`,
  );
}

/** A program with keys of its own need not load it. */
const fs = () => process.getBuiltinModule('node:fs');

/** For threads and processes that run handlers: they have no use for the keys, and code in them could read them. */
export function environmentWithoutKeys(): Env {
  const { LONGSHORE_SIGNING_KEYS: _, ...rest } = process.env;
  return rest;
}
