import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { keyRing } from '../../../core/envelope/signing.ts';
import { signingFromEnv } from '../../../core/envelope/signing-keys.ts';
import { createApp } from '../../../core/features/table.ts';
import { connect } from '../../../core/routing/connect.ts';
import { startWorker } from '../../../core/routing/worker.ts';
import { createDashboard } from '../../../core/surfaces/dashboard/dashboard.ts';
import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { lambda, sqs } from '../../../functions/aws/index.ts';
import { memory, memoryStore } from '../../../local/backends/memory/index.ts';
import { startLocal } from '../../../local/start.ts';
import { job, refusal, refusalText, secret } from './kit.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longshore-keys-'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

const base64 = (fill: number): string => Buffer.from(secret(fill)).toString('base64');
const never = (path: string): never => {
  throw new Error(`Expected no development key, got ${path}.`);
};

describe('LONGSHORE_SIGNING_KEYS', () => {
  it.each([{}, { NODE_ENV: 'production' }, { AWS_LAMBDA_FUNCTION_NAME: 'f' }])(
    'makes the ring, and no key is written (%o)',
    (env) => {
      const text = `new:${base64(1)},old:${base64(2)}`;
      const ring = signingFromEnv({ ...env, LONGSHORE_SIGNING_KEYS: text }, folder, never);
      expect(ring.kid).toBe('new');
      const old = keyRing([{ kid: 'old', secret: secret(2) }]);
      expect(() => ring.verify('old', 'text', old.sign('text'))).not.toThrow();
    },
  );

  it('that are wrong stop the start, in development too', async () => {
    const error = await refusal(() => signingFromEnv({ LONGSHORE_SIGNING_KEYS: 'oops' }, folder, never));
    expect(error.code).toBe('CONFIG');
    expect(error.message).not.toContain('oops');
  });
});

describe('LONGSHORE_SIGNING_KEYS without a key in it', () => {
  it.each(['', '   ', '\n'])('is a refusal and not a development key: %j', async (text) => {
    for (const env of [{}, { NODE_ENV: 'production' }]) {
      const given = { ...env, LONGSHORE_SIGNING_KEYS: text };
      const error = await refusal(() => signingFromEnv(given, folder, never));
      expect(error.code).toBe('CONFIG');
      expect(error.message).toMatch(/^Expected signing keys in .+, got none\. Set LONGSHORE_SIGNING_KEYS/);
    }
  });
});

describe('without keys, production', () => {
  it.each([
    ['NODE_ENV', 'production', 'NODE_ENV=production'],
    ['AWS_LAMBDA_FUNCTION_NAME', 'worker', 'AWS_LAMBDA_FUNCTION_NAME'],
    ['FUNCTIONS_WORKER_RUNTIME', 'node', 'FUNCTIONS_WORKER_RUNTIME'],
    ['WEBSITE_INSTANCE_ID', 'a1', 'WEBSITE_INSTANCE_ID'],
    ['KUBERNETES_SERVICE_HOST', '10.0.0.1', 'KUBERNETES_SERVICE_HOST'],
    ['ECS_CONTAINER_METADATA_URI_V4', 'http://169.254.170.2/v4/1', 'ECS_CONTAINER_METADATA_URI_V4'],
    ['K_SERVICE', 'worker', 'K_SERVICE'],
    ['CLOUD_RUN_JOB', 'nightly', 'CLOUD_RUN_JOB'],
    ['CONTAINER_APP_NAME', 'worker', 'CONTAINER_APP_NAME'],
    ['CONTAINER_APP_JOB_NAME', 'nightly', 'CONTAINER_APP_JOB_NAME'],
  ])('known by %s=%s refuses to start', async (name, value, mark) => {
    expect(await refusalText(() => signingFromEnv({ [name]: value }, folder, never))).toBe(
      `CONFIG: Expected signing keys in production (${mark}), got none. Set LONGSHORE_SIGNING_KEYS to kid:base64, made with \`openssl rand -base64 32\`.`,
    );
  });

  const inProduction = () => {
    vi.stubEnv('NODE_ENV', 'production');
    vi.stubEnv('LONGSHORE_SIGNING_KEYS', undefined);
    const work = job();
    return { work, app: createApp({ jobs: [work] }), backend: memory() };
  };

  it('refuses to start what runs jobs', async () => {
    const { app, backend } = inProduction();
    const store = memoryStore();
    const starts = [
      () => startWorker(app, { backend }),
      () => startWorker(app, { backend: { default: backend } }),
      () => startLocal(app, { backend }),
      () => lambda(app, { backend: sqs({ queueUrl: 'https://sqs.eu-central-1.amazonaws.com/1/a-' }), store }),
    ];
    for (const start of starts) expect(await refusalText(start)).toMatch(/^CONFIG: Expected signing keys/);
  });

  it.each(['one', 'several'])(
    'lets a build load what connects (%s backends), and sends nothing',
    async (how) => {
      const { app, work, backend } = inProduction();
      const client = how === 'one' ? connect(app, backend) : connect(app, { default: backend });
      createDashboard(client, { authorize: () => ({ actor: 'anna', role: 'operator' }) });
      createHttpHandler(client, { authorize: () => null });
      const calls = [
        () => client.enqueue(work, 1),
        () => client.enqueue(work, 1, { unique: { key: 'k', during: 'waiting' } }),
        () => client.batch('all', [1], { job: work }),
        () => client.chain([work], 1),
        () => client.schedules.upsert({ name: 'nightly', job: work, payload: 1, everyMs: 60_000 }),
      ];
      for (const call of calls)
        expect(await refusalText(call)).toMatch(/Expected signing keys in production/);
      const [sent] = await client.enqueueMany(work, [1]);
      expect(sent).toMatchObject({ ok: false, error: { code: 'CONFIG' } });
      expect((await backend.stores!.records.page({})).records).toEqual([]);
      expect(await backend.stores!.batches!.list({})).toEqual([]);
      expect((await client.schedules.list()).schedules).toEqual([]);
    },
  );
});

describe('a development key', () => {
  const path = () => join(folder, '.longshore', 'signing-key');

  it('is made once, for this user only, and told', () => {
    const told: string[] = [];
    const first = signingFromEnv({}, folder, (where) => told.push(where));
    const text = readFileSync(path(), 'utf8');
    const second = signingFromEnv({ NODE_ENV: 'development' }, folder, (where) => told.push(where));
    expect(told).toEqual([path(), path()]);
    expect(statSync(path()).mode & 0o777).toBe(0o600);
    expect(first.kid).toMatch(/^dev-[0-9a-f]{8}$/);
    expect(readFileSync(join(folder, '.longshore', '.gitignore'), 'utf8')).toBe('*\n');
    expect(second.sign('text')).toBe(first.sign('text'));
    expect(readFileSync(path(), 'utf8')).toBe(text);
  });

  it('is another one in another folder, which says whose key it does not know', async () => {
    const other = mkdtempSync(join(folder, 'other-'));
    const one = signingFromEnv({}, folder, () => {});
    const two = signingFromEnv({}, other, () => {});
    expect(one.sign('text')).not.toBe(two.sign('text'));
    expect(await refusalText(() => two.verify(one.kid, 'text', one.sign('text')))).toBe(
      `UNKNOWN_KEY: The envelope is signed with key "${one.kid}", which is not on this ring. It is of another folder: give both the same LONGSHORE_SIGNING_KEYS.`,
    );
  });

  it.each([
    ['.git', ''],
    ['pnpm-workspace.yaml', 'packages: [packages/*]'],
    ['package.json', '{ "workspaces": ["packages/*"] }'],
  ])('is one for all packages of a workspace, which has %s in its root', (name, text) => {
    writeFileSync(join(folder, name), text);
    const rings = ['packages/shop', 'packages/mailer'].map((name) => {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, 'package.json'), '{ "type": "module" }');
      return signingFromEnv({}, join(folder, name), (where) => expect(where).toBe(path()));
    });
    expect(() => rings[1]!.verify(rings[0]!.kid, 'text', rings[0]!.sign('text'))).not.toThrow();
  });

  it('verifies what it has signed as `dev`', () => {
    mkdirSync(join(folder, '.longshore'));
    writeFileSync(path(), `dev:${base64(3)}`, { mode: 0o600 });
    const before = keyRing([{ kid: 'dev', secret: secret(3) }]);
    const ring = signingFromEnv({}, folder, () => {});
    expect(() => ring.verify('dev', 'text', before.sign('text'))).not.toThrow();
  });

  it('is read with a line feed at its end', () => {
    const first = signingFromEnv({}, folder, () => {});
    writeFileSync(path(), `${readFileSync(path(), 'utf8')}\n`);
    expect(signingFromEnv({}, folder, () => {}).sign('text')).toBe(first.sign('text'));
  });

  it('that cannot be kept is a clear refusal', async () => {
    writeFileSync(join(folder, 'file'), '');
    const error = await refusal(() => signingFromEnv({}, join(folder, 'file'), never));
    expect(error.code).toBe('CONFIG');
    expect(error.message).toMatch(
      /^Could not keep a development key at .+Set LONGSHORE_SIGNING_KEYS instead\.$/s,
    );
  });

  const refusedKey = (got: string) =>
    `CONFIG: Expected the development key ${path()} to be a file that only user ${process.getuid!()} can read, got ${got}. Delete it for a new key, or set LONGSHORE_SIGNING_KEYS.`;

  it.each([0o666, 0o644, 0o620])('that others may read or write is refused (mode %o)', async (mode) => {
    signingFromEnv({}, folder, () => {});
    chmodSync(path(), mode);
    expect(await refusalText(() => signingFromEnv({}, folder, never))).toBe(
      refusedKey(`a file of mode ${mode.toString(8)} and user ${process.getuid!()}`),
    );
  });

  it('of another user is refused', async () => {
    signingFromEnv({}, folder, () => {});
    const mine = process.getuid!();
    vi.spyOn(process, 'getuid').mockReturnValue(mine + 1);
    expect(await refusalText(() => signingFromEnv({}, folder, never))).toBe(
      refusedKey(`a file of mode 600 and user ${mine}`),
    );
  });

  it('in whose place there is a folder is a clear refusal', async () => {
    mkdirSync(path(), { recursive: true });
    expect(await refusalText(() => signingFromEnv({}, folder, never))).toBe(
      refusedKey(`something else of mode 755 and user ${process.getuid!()}`),
    );
  });

  it('that is damaged is a refusal that tells nothing of it', async () => {
    signingFromEnv({}, folder, () => {});
    const text = readFileSync(path(), 'utf8');
    writeFileSync(path(), text.slice(0, 20));
    const error = await refusal(() => signingFromEnv({}, folder, never));
    expect(error.code).toBe('CONFIG');
    expect(error.message).not.toContain(text.slice(4, 20));
  });
});
