/** Runs the tutorial as it stands, in an empty folder, with the packed tarball beside it. */

import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shared } from '../../kit/shared/shared.ts';
import { root } from './kit.ts';

const execute = promisify(execFile);
const page = readFileSync(join(root, 'docs/tutorial.md'), 'utf8');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

interface Step {
  readonly script: string;
  /** What the page says it prints, `…` standing for anything within a line. */
  readonly printed: string | null;
}

const steps: Step[] = [];
for (const [, language, text = ''] of page.matchAll(/^```(\w+)\n(.*?)\n```$/gms)) {
  if (language === 'sh') steps.push({ script: text, printed: null });
  else steps[steps.length - 1] = { script: steps.at(-1)!.script, printed: text };
}

const temporary = mkdtempSync(join(tmpdir(), 'longshore-tutorial-'));
const env: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
  NO_COLOR: '1',
  FORCE_COLOR: undefined,
  LONGSHORE_SIGNING_KEYS: undefined,
  NODE_ENV: undefined,
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_loglevel: 'error',
  npm_config_update_notifier: 'false',
};

async function bash(script: string): Promise<string> {
  try {
    return (await execute('bash', ['-c', script], { cwd: temporary, env, timeout: 120_000 })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${script}\nfailed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

let outputs: readonly string[] = [];

beforeAll(async () => {
  const { tarball } = await shared('release');
  copyFileSync(tarball, join(temporary, basename(tarball)));
  // With this repository's lock as a start, npm finds all it needs in the cache that `npm ci` filled.
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  lock.packages[''] = { name: 'hello-jobs' };
  mkdirSync(join(temporary, 'hello-jobs'));
  writeFileSync(join(temporary, 'hello-jobs/package-lock.json'), JSON.stringify(lock));
  // One shell for all steps, because a reader has one too. What a step prints ends with a line of its own; errors are
  // part of what a reader sees.
  const border = '-- end of step --';
  const script = steps.map((step) => `{\n${step.script}\n} 2>&1\necho '${border}'`).join('\n');
  writeFileSync(join(temporary, 'tutorial.sh'), `set -euo pipefail\n${script}\n`);
  outputs = (await bash('bash tutorial.sh')).split(`${border}\n`).slice(0, -1);
}, 400_000); // the release is built first, and all steps run in here

afterAll(() => rmSync(temporary, { recursive: true, force: true }));

describe('docs/tutorial.md', () => {
  it('names the tarball of this version', () => {
    expect(page.match(/longshore-[\d.]+\d\.tgz/g)?.every((name) => name === `longshore-${version}.tgz`)).toBe(
      true,
    );
  });

  it('has steps that all run', () => {
    expect(outputs).toHaveLength(steps.length);
  });

  it.each(steps.map((step, i) => [i, step] as const).filter(([, { printed }]) => printed !== null))(
    'shows what step %i prints',
    (i, { printed }) => {
      const lines = printed!.split('\n');
      const actual = outputs[i]!.split('\n').filter((line) => line !== '' && !line.startsWith('npm '));
      const matches = lines.map((line, n) => pattern(line).test(actual[n] ?? ''));
      expect(matches.includes(false) || actual.length !== lines.length ? actual : lines).toEqual(lines);
    },
  );
});

function pattern(line: string): RegExp {
  const parts = line.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`);
}
