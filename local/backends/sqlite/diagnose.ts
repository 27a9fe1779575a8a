/** The checks of `longshore doctor` for a SQLite file and its disk. */

import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Check, DiagnosisRequest, Looked, Problem } from '../../../core/contract/diagnosis.ts';
import type { Retention } from '../../../core/contract/store.ts';
import { check, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { keptTooShort } from '../../../core/kit/diagnosis/kept-too-short.ts';
import type { Database } from './database.ts';

interface SqliteFacts {
  readonly db: Database;
  /** Path of the file, or `:memory:`. */
  readonly path: string;
  /** The function whose options the texts name, like `sqlite()`. */
  readonly caller: string;
  readonly retention: Retention;
  readonly request: DiagnosisRequest;
}

export const sqliteDiagnosis = (of: Omit<SqliteFacts, 'request'>, request: DiagnosisRequest): Check[] =>
  checksOf(sqliteChecks, { ...of, request });

const mebibyte = 1024 ** 2;
const fewBytes = 1024 * mebibyte;
const veryFewBytes = 100 * mebibyte;
/** Normally a checkpoint starts the file again at 4 MB. */
const longWalBytes = 64 * mebibyte;
const quickCheckMs = 10_000;
const inMemory = ':memory:';

/** `statfs` types of file systems whose locks do not reliably hold between hosts. */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB 2'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
  [0x65735546, 'FUSE'],
]);

export const networkFileSystem = (type: number): string | null => networkTypes.get(type >>> 0) ?? null;

export const sqliteChecks: readonly Check<SqliteFacts>[] = [
  check('sqlite.journal', 'error', ({ db, path, caller }) => {
    const mode = String(pragma(db, 'journal_mode'));
    if (mode === 'wal') return [];
    const text =
      mode === 'memory'
        ? 'It is in memory: all jobs end with this process.'
        : `journal_mode is ${mode} and not wal: writers and readers wait for one another.`;
    return found(path, text, `Give ${caller} the path of a file on a disk of this machine.`);
  }),
  check('sqlite.synchronous', 'note', ({ db, path, caller }) => {
    if (path === inMemory || Number(pragma(db, 'synchronous')) >= 2) return [];
    return found(
      path,
      'synchronous is NORMAL: a power cut or a system crash may lose the last transactions, but damages nothing. A killed process loses nothing.',
      `To lose nothing, pass { synchronous: 'FULL' } to ${caller}. It costs a disk flush per transaction.`,
    );
  }),
  check('sqlite.wal', 'warning', ({ path }) => {
    const bytes = path === inMemory ? 0 : (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0);
    if (bytes < longWalBytes) return [];
    return found(
      `${path}-wal`,
      `It has ${megabytes(bytes)}: a long read transaction prevents its checkpoint, and everything becomes slower.`,
      'Look for a transaction that is left open: a backup, a shell of sqlite3, a stuck process (fuser on the file).',
    );
  }),
  check('sqlite.disk', 'warning', async ({ path }) => {
    if (path === inMemory) return [];
    const { bavail, bsize } = await statfs(dirname(path));
    const free = bavail * bsize;
    if (free >= fewBytes) return [];
    const text = `${megabytes(free)} are free: when the disk is full, no job can be enqueued or settled.`;
    const problem = found(dirname(path), text, 'Free space, or move the file to a larger disk.');
    return { ...problem, severity: free < veryFewBytes ? 'error' : 'warning' };
  }),
  check('sqlite.filesystem', 'error', async ({ path }) => {
    if (path === inMemory) return [];
    if (process.platform !== 'linux') return { because: 'the kind of a file system is only known on Linux' };
    const kind = networkFileSystem((await statfs(dirname(path))).type);
    if (kind === null) return [];
    return found(
      dirname(path),
      `It is on ${kind}: locks there do not hold between hosts, and the file will be damaged.`,
      'Put it on a disk of this machine, or use postgres() for several hosts.',
    );
  }),
  check('sqlite.integrity', 'error', ({ path }) => (path === inMemory ? [] : quickCheck(path))),
  check('sqlite.retention', 'note', ({ caller, retention, request }) =>
    keptTooShort(caller, retention.completedMs, request),
  ),
];

const found = (where: string, text: string, remedy: string): Problem => ({ where, text, remedy });
const megabytes = (bytes: number): string => `${Math.round(bytes / mebibyte)} MB`;
const pragma = (db: Database, name: string): unknown =>
  db.run('diagnosing', () => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]);

const quickCheckProgram = `
  const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
  const db = new DatabaseSync(process.argv[1], { readOnly: true });
  const rows = db.prepare('PRAGMA quick_check(3)').all();
  process.stdout.write(rows.map((row) => Object.values(row)[0]).join('; '));`;

/** Runs in its own process, because otherwise it could not be stopped before it has read the whole file. */
export function quickCheck(path: string, limitMs = quickCheckMs): Promise<Looked> {
  const remedy = 'Stop all workers, keep a copy of the file, and restore it, or try: sqlite3 FILE .recover';
  const args = ['--no-warnings', '--eval', quickCheckProgram, path];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: limitMs, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      if (error?.killed) {
        const because = `quick_check takes longer than ${limitMs / 1_000} s. Run it by hand: sqlite3 ${path} "PRAGMA quick_check"`;
        resolve({ because });
      } else if (error) {
        const [line] = /^Error: .*$/m.exec(stderr) ?? ['quick_check could not be run'];
        resolve(found(path, `${line}.`, remedy));
      } else resolve(stdout === 'ok' ? [] : found(path, `quick_check found: ${stdout}.`, remedy));
    });
  });
}
