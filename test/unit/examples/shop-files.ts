/** What the example expects of its files, wherever they are. */

import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { Files } from '../../../examples/app/files.ts';

/** @param open files as two instances see them */
export function describeFiles(open: () => Promise<readonly [Files, Files]>): void {
  it('keeps files that another instance reads, whole and in parts', async () => {
    const [one, other] = await open();
    await one.write('invoices/A-1.pdf', Buffer.from('%PDF one'));
    await one.write('invoices/A-1.pdf', Buffer.from('%PDF two'));
    await one.write('orders.csv', 'order,städte\n1,Köln\n');
    expect((await buffer(await other.read('invoices/A-1.pdf'))).toString()).toBe('%PDF two');
    const part = await buffer(await other.read('orders.csv', { start: 14, end: 19 }));
    expect(part.toString()).toBe('1,Köl');
  });

  it('fails for a file that is not there', async () => {
    const [files] = await open();
    await expect(files.read('none.csv')).rejects.toThrow('There is no file none.csv.');
  });
}
