/** What a person sees of a stack. */

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { stackLines } from '../../../local/cli/output/stack.ts';
import { createUi } from '../../../local/cli/output/ui.ts';

const plain = createUi({ colour: false, columns: null });
const own = fileURLToPath(new URL('../../../core/kernel/flow.ts', import.meta.url));
const lines = (stack: string, ui = plain) => stackLines(stack, ui, '/app').split('\n');

const stack = `TypeError: no such customer
    at JSON.parse (<anonymous>)
    at Query.run (/app/node_modules/pg/lib/query.js:10:3)
    at lookUp (file:///app/src/lookup.ts:3:94)
    at async Object.handle [as run] (/app/jobs.ts:6:25)
    at execute (${own}:31:9)
    at process.processTicksAndRejections (node:internal/process/task_queues:103:5)
caused by: Error: connect ECONNREFUSED
    at TCPConnectWrap.afterConnect (node:net:1637:16)
caused by: Error: off
    at /app/src/net.ts:1:1`;

describe('a stack for people', () => {
  it('has the frames of their own code, the first one marked, and every cause', () => {
    expect(lines(stack)).toEqual([
      '      TypeError',
      '    → at lookUp (src/lookup.ts:3:94)',
      '      at async handle (jobs.ts:6:25)',
      '      caused by Error: connect ECONNREFUSED',
      '      at TCPConnectWrap.afterConnect (node:net:1637:16)',
      '      caused by Error: off',
      '      at src/net.ts:1:1',
    ]);
  });

  it('has the marked frame in bold', () => {
    const coloured = lines(stack, createUi({ colour: true, columns: null }));
    expect(coloured.filter((line) => line.includes('\u001b[1m'))).toEqual([
      '    \u001b[1m→ at lookUp (src/lookup.ts:3:94)\u001b[22m',
    ]);
  });

  it('ends after 8 frames, and has nothing to say of an error that is all our own', () => {
    const deep = `Error: deep\n${Array.from({ length: 11 }, (_, i) => `    at f${i} (/app/a.ts:${i}:1)`).join('\n')}`;
    expect(lines(deep)).toHaveLength(9);
    expect(lines(deep).at(-1)).toBe('      … 3 more');
    expect(stackLines(`LongshoreError: no\n    at check (${own}:1:1)`, plain, '/app')).toBe('');
    expect(stackLines('', plain, '/app')).toBe('');
  });

  it('prints nothing that moves a cursor', () => {
    const hostile = `Error: a\n    at \u001b[2Jf (/app/\u202ea.ts:1:1)\ncaused by: Error: b\u001b[31m\nsecond\n    at g (/app/b.ts:1:1)`;
    expect(lines(hostile)).toEqual([
      '    → at f ( a.ts:1:1)',
      '      caused by Error: b second',
      '      at g (b.ts:1:1)',
    ]);
  });
});
