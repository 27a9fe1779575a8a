/** What a function carries: the sizes are promises of README.md, and a static import somewhere breaks them silently. */

import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundled, bundleFunction } from '../../infra/aws/bundle.ts';

let folder: string;
let bundled: Bundled;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'longshore-bundle-'));
  bundled = await bundleFunction(join(import.meta.dirname, '../bench/aws/entries/longshore.ts'), folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('the bundle of a worker', () => {
  it('starts with at most 20 KB', () => {
    expect(bundled.startBytes).toBeLessThanOrEqual(20 * 1024);
  });

  it('has loaded at most 42 KB when the first event has come', () => {
    expect(bundled.bytesWith('functions/aws/worker.ts')).toBeLessThanOrEqual(42 * 1024);
  });

  it('starts without the SDK, and without any other package', () => {
    expect(bundled.startInputs.filter((path) => path.includes('node_modules'))).toEqual([]);
  });

  it('starts without what only some functions or some jobs need', () => {
    const rare =
      /^(core\/(due|enqueue|flow|http|openapi|polling|schedule|serverless\/(invocation|schedule)|worker|upkeep|sandbox|records)|functions\/aws\/(dynamo\/(?!index|table)|http-event|sqs\/(admin|dead|receiving|sdk|sender|sending|settling))|local)\b/;
    expect(bundled.startInputs.filter((path) => rare.test(path))).toEqual([]);
    expect(bundled.startInputs).toContain('functions/aws/sqs.ts'); // the paths are still what the pattern is about
  });
});

describe('a package from a layer', () => {
  it('is looked for when it is used, and then in the folders that Lambda names', async () => {
    const layer = join(folder, 'layer/node_modules');
    await mkdir(join(layer, 'native'), { recursive: true });
    const content = 'module.exports = Object.assign((n) => n + 1, { Thing: class {}, two: 2 });';
    await writeFile(join(layer, 'native/index.js'), content);
    const program = "import native from 'native'; export const use = () => [native(1), native.two];";
    await writeFile(join(folder, 'program.mjs'), program);
    const out = join(folder, 'program');
    await bundleFunction(join(folder, 'program.mjs'), out, ['native']);
    const run = (env: NodeJS.ProcessEnv, then: string) => {
      const code = `import(${JSON.stringify(join(out, 'main.mjs'))}).then(({ use }) => ${then})`;
      return execFileSync(process.execPath, ['-e', code], { env, encoding: 'utf8' }).trim();
    };
    expect(run({}, 'console.log(typeof use)')).toBe('function');
    expect(run({ NODE_PATH: layer }, 'console.log(use().join())')).toBe('2,2');
  });
});
