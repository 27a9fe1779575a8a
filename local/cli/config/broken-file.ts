/** Finds the user's file that could not be loaded, and the line. Node reports it in several ways, or not at all. */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nearest } from '../../../core/base/nearest.ts';
import { firstUsersFrame } from '../output/stack.ts';

export interface Spot {
  readonly path: string;
  readonly line: number;
  /** Starts at 1; `null` = not known. */
  readonly column: number | null;
}

/** Records the files that Node loads, until `end` is called. */
export function watchLoads(): { readonly urls: readonly string[]; end(): void } {
  const urls: string[] = [];
  const hooks = registerHooks({
    load(url, context, next) {
      urls.push(url);
      return next(url, context);
    },
  });
  return { urls, end: () => hooks.deregister() };
}

/** `null` = not found in the loaded files. */
export function spotOf(error: unknown, urls: readonly string[]): Spot | null {
  if (!(error instanceof Error)) return null;
  const stack = error.stack ?? '';
  if (error.name === 'SyntaxError') return spotIn(stack) ?? jsonSpot(error) ?? checked(urls);
  const { code } = error as { code?: unknown };
  if (code === 'ERR_MODULE_NOT_FOUND') return importerOf(error.message, urls);
  if (code === 'ERR_IMPORT_ATTRIBUTE_MISSING')
    return importOf(/"file:([^"]+)"/.exec(error.message)?.[1], urls);
  const frame = firstUsersFrame(stack);
  if (!frame) return null;
  const [line, column] = frame.at.split(':').map(Number);
  return { path: frame.path, line: line!, column: column! };
}

/** Parses the text that Node prints before an error: `file:///app/jobs.ts:3`, some lines, and a mark under the column if it is known. */
function spotIn(text: string): Spot | null {
  const [, file, line, rest = ''] = /^(\S+):(\d+)\n((?:.*\n){0,10})/.exec(text) ?? [];
  if (file === undefined || file.startsWith('node:')) return null;
  const path = file.startsWith('file:') ? fileURLToPath(file) : file;
  const marked = /^([ \t]*)\^/m.exec(rest)?.[1];
  return { path, line: Number(line), column: marked === undefined ? null : marked.length + 1 };
}

/** For a JSON file, Node puts the path at the front of the message and the place at the end. */
function jsonSpot({ message }: Error): Spot | null {
  const [, path, line, column] = /^(.+\.json): .*\(line (\d+) column (\d+)\)$/s.exec(message) ?? [];
  return path === undefined ? null : { path, line: Number(line), column: Number(column) };
}

/** Only the newest files are checked: the broken one was loaded among the last. */
const mostChecked = 20;

function checked(urls: readonly string[]): Spot | null {
  const scripts = urls.filter((url) => /^file:.*\.[cm]?js$/.test(url));
  for (const url of scripts.slice(-mostChecked).toReversed()) {
    const { stderr } = spawnSync(process.execPath, ['--check', fileURLToPath(url)], { encoding: 'utf8' });
    const spot = spotIn(stderr);
    if (spot) return spot;
  }
  return null;
}

const missing = /^Cannot find (?:module|package) '([^']+)' imported from (.+)$/m;

function importerOf(message: string, urls: readonly string[]): Spot | null {
  const [, wanted, importer] = missing.exec(message) ?? [];
  return importer === undefined ? null : (importIn(importer, wanted!) ?? importOf(wanted, urls));
}

/** The import in the newest file that has it. */
function importOf(wanted: string | undefined, urls: readonly string[]): Spot | null {
  const own = urls.filter((url) => url.startsWith('file:') && !url.includes('/node_modules/'));
  for (const url of wanted === undefined ? [] : own.toReversed()) {
    const spot = importIn(fileURLToPath(url), wanted!);
    if (spot) return spot;
  }
  return null;
}

/** The line with a quoted text that ends with the file name. */
function importIn(path: string, wanted: string): Spot | null {
  if (!existsSync(path)) return null;
  const name = basename(wanted);
  const lines = readFileSync(path, 'utf8').split('\n');
  const line = lines.findIndex((text) => ["'", '"', '`', '/'].some((end) => text.includes(name + end)));
  return line < 0 ? null : { path, line: line + 1, column: null };
}

/** Suggests a file with a similar name for a missing one: ` Did you mean ./lib/help.ts?` */
export function similarFile(message: string): string {
  const [, wanted = ''] = missing.exec(message) ?? [];
  const folder = dirname(wanted);
  if (extname(wanted) === '' || !existsSync(folder)) return '';
  const near = nearest(basename(wanted), readdirSync(folder));
  return near === null ? ` There is no such file in ${folder}.` : ` Did you mean ${join(folder, near)}?`;
}

/** The module that lacks an export, as it was imported, if it is CommonJS: Node knows only some of its members by name. */
export function commonJsModule(message: string, urls: readonly string[]): string | null {
  const wanted = /^The requested module '([^']+)'/.exec(message)?.[1];
  const url = urls.findLast((one) => wanted !== undefined && one.endsWith(`/${basename(wanted)}`));
  if (url === undefined || !url.startsWith('file:')) return null;
  return /\bexports\b\s*[.=]/.test(readFileSync(fileURLToPath(url), 'utf8')) ? wanted! : null;
}
