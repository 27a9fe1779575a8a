/** The package managers, and how their commands are written. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface Manager {
  readonly name: 'npm' | 'pnpm' | 'yarn';
  readonly locks: readonly string[];
  readonly install: string;
  run(script: string): string;
  /** Runs a program of a package. */
  readonly exec: string;
  /** Adds devDependencies, without their install scripts. */
  readonly addTools: string;
}

export const managers: readonly [Manager, ...Manager[]] = [
  {
    name: 'npm',
    locks: ['package-lock.json', 'npm-shrinkwrap.json'],
    install: 'npm install',
    run: (script) => (script === 'test' ? 'npm test' : `npm run ${script}`),
    exec: 'npx',
    addTools: 'npm install --save-dev --ignore-scripts',
  },
  {
    name: 'pnpm',
    locks: ['pnpm-lock.yaml'],
    install: 'pnpm install',
    run: (script) => `pnpm ${script}`,
    exec: 'pnpm exec',
    addTools: 'pnpm add --save-dev --ignore-scripts',
  },
  {
    name: 'yarn',
    locks: ['yarn.lock'],
    install: 'yarn install',
    run: (script) => `yarn ${script}`,
    exec: 'yarn',
    addTools: 'yarn add --dev --ignore-scripts',
  },
];

/** The manager of the lock file, of `packageManager`, or the one that runs this program. @param folders the innermost first */
export function managerOf(
  folders: readonly string[],
  packageManager: string | undefined,
  userAgent: string | undefined,
): Manager {
  for (const folder of folders) {
    const found = managers.find(({ locks }) => locks.some((lock) => existsSync(join(folder, lock))));
    if (found) return found;
  }
  const isNamed = (text: string | undefined) => managers.find(({ name }) => text?.split(/[@/]/)[0] === name);
  return isNamed(packageManager) ?? isNamed(userAgent) ?? managers[0];
}
