/** The example's files on one machine. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { filesIn } from '../../../examples/app/files.ts';
import { describeFiles } from './shop-files.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-files-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('filesIn()', () => {
  describeFiles(async () => [filesIn(folder), filesIn(folder)]);

  it('leaves no draft behind, whether it could write or not', async () => {
    const files = filesIn(folder);
    await files.write('reports/sales.csv', 'day\n');
    await expect(files.write('reports', 'a folder of this name is there')).rejects.toThrow();
    expect(readdirSync(join(folder, 'reports'))).toEqual(['sales.csv']);
    expect(readdirSync(folder).filter((name) => name.startsWith('reports'))).toEqual(['reports']);
  });
});
