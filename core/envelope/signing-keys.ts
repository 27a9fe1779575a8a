/** Where the signing keys come from when the app brings no key ring. */

import { dirname, join } from 'node:path';
import { crypto } from '../base/crypto.ts';
import { config } from '../base/errors.ts';
import { type KeyRing, keyRing, parseSigningKeys, type SigningKey } from './signing.ts';

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
  const { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } = fs();
  if (!existsSync(path)) {
    const draft = `${path}.${process.pid}`;
    try {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(join(dirname(path), '.gitignore'), '*\n');
      writeFileSync(draft, `dev:${crypto().randomBytes(32).toString('base64')}`, { mode: 0o600 });
      try {
        // A link fails when the name exists: of two processes that start together one makes the key, both read it whole.
        linkSync(draft, path);
      } finally {
        rmSync(draft);
      }
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw config(
          `Could not keep a development key at ${path} (${(cause as Error).message}). Set LONGSHORE_SIGNING_KEYS instead.`,
        );
      }
    }
  }
  return readFileSync(path, 'utf8');
}

/** A program with keys of its own need not load it. */
const fs = () => process.getBuiltinModule('node:fs');

/** For threads and processes that run handlers: they have no use for the keys, and code in them could read them. */
export function environmentWithoutKeys(): Env {
  const { LONGSHORE_SIGNING_KEYS: _, ...rest } = process.env;
  return rest;
}
