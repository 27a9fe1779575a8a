/** The files of a new project that every platform has: a job, its test, the config, and a program that enqueues. */

import type { Choices } from './choices.ts';
import { configOf, functionFiles, hasOwnStore } from './config-files.ts';
import type { Project } from './project.ts';
import { hasUrgentQueue } from './settings.ts';
import type { NewFile } from './write.ts';

export function codeFiles(project: Project, choices: Choices): readonly NewFile[] {
  const { ending, has } = project;
  const files: Readonly<Record<string, string>> = {
    'jobs.ts': jobsOf(choices),
    'jobs.test.ts': has('vitest') ? vitestTest : nodeTest,
    'longshore.config.ts': configOf(choices),
    'enqueue.ts': enqueueOf(choices),
    ...functionFiles(choices),
  };
  return [
    ...Object.entries(files).map(([path, text]) => ({
      path: path.replace(/\.ts$/, `.${ending}`),
      text: text.replace(/'(\.\/[\w.]+)\.ts'/g, `'$1.${ending}'`),
    })),
    { path: 'tsconfig.json', text: tsconfig(ending) },
    { path: '.gitignore', text: gitignore },
  ];
}

/** Lines of their own would look like imports of this file. */
const importing = (...all: readonly string[]): string => all.map((one) => `import ${one};`).join('\n');

const jobsOf = ({
  platform,
}: Choices): string => `${importing("{ createApp, defineJob } from 'longshore'", "* as z from 'zod'")}

export const greet = defineJob({
  name: 'greet',
  payload: z.object({ name: z.string() }),
  async handle({ name }, ctx) {
    ctx.log(\`hello \${name}\`);
    return { greeted: name };
  },
});

export const app = createApp({ jobs: [greet]${hasUrgentQueue(platform) ? ', queues: { urgent: {} }' : ''} });
`;

const nodeTest = `${importing("assert from 'node:assert/strict'", "{ test } from 'node:test'", "{ testApp } from 'longshore/testing'", "{ app, greet } from './jobs.ts'")}

test('greet returns the name', async () => {
  const t = testApp(app);
  const { id } = await t.enqueue(greet, { name: 'Ada' });
  await t.drain();
  assert.deepEqual(await t.client.result(greet, id, { timeoutMs: 1_000 }), { greeted: 'Ada' });
});
`;

const vitestTest = `${importing("{ testApp } from 'longshore/testing'", "{ expect, test } from 'vitest'", "{ app, greet } from './jobs.ts'")}

test('greet returns the name', async () => {
  const t = testApp(app);
  const { id } = await t.enqueue(greet, { name: 'Ada' });
  await t.drain();
  expect(await t.client.result(greet, id, { timeoutMs: 1_000 })).toEqual({ greeted: 'Ada' });
});
`;

const enqueueOf = (choices: Choices): string => `${importing(
  "{ connect } from 'longshore'",
  "{ greet } from './jobs.ts'",
  `{ app, backend${hasOwnStore(choices) ? ', store' : ''} } from './longshore.config.ts'`,
)}

const client = connect(app, backend()${hasOwnStore(choices) ? ', { store: store() }' : ''});
const { id } = await client.enqueue(greet, { name: process.argv[2] ?? 'Ada' });
await client.close();
console.log(\`Job \${id} is enqueued.\`);
`;

/** `declaration` shows types that another package of a workspace could not name. Node itself reads no tsconfig. */
const tsconfig = (ending: string): string => `{
  "compilerOptions": {
    "target": "es2024",
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "declaration": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true
  },
  "include": ["**/*.${ending}"]
}
`;

const gitignore = `node_modules/
.longshore/
dist/
`;
