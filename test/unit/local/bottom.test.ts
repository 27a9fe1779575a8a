import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { openBottom } from '../../../local/cli/commands/show-running.ts';

/** What a terminal shows of `\r`, `\n` and "erase to the end of the line". */
function screenOf(written: string): string[] {
  const rows = [''];
  let column = 0;
  for (const [piece] of written.replaceAll('\u001b[K', '\0').matchAll(/[\0\r\n]|[^\0\r\n]+/g)) {
    const row = rows.at(-1)!;
    if (piece === '\0') rows[rows.length - 1] = row.slice(0, column);
    else if (piece === '\r') column = 0;
    else if (piece === '\n') {
      rows.push('');
      column = 0;
    } else {
      rows[rows.length - 1] = row.slice(0, column) + piece + row.slice(column + piece.length);
      column += piece.length;
    }
  }
  return rows;
}

function terminal(columns = 80) {
  let written = '';
  const stream = () =>
    new Writable({
      write(chunk, _, done) {
        written += String(chunk);
        done();
      },
    });
  const io = {
    ...{ stdout: stream(), stderr: stream(), columns },
    isTTY: { stdin: true, stdout: true, stderr: true },
  };
  return { io, screen: () => screenOf(written), written: () => written };
}

it('stays below what others write, on both streams, as texts and as bytes', () => {
  const { io, screen } = terminal();
  const line = openBottom(io, (text) => text);
  line.show('1 running: a long name');
  io.stdout.write('first\n');
  io.stderr.write(Buffer.from('second\n'));
  expect(screen()).toEqual(['first', 'second', '1 running: a long name']);
  line.show('short');
  expect(screen()).toEqual(['first', 'second', 'short']);
  line.end();
  io.stdout.write('third\n');
  expect(screen()).toEqual(['first', 'second', 'third', '']);
});

it('waits for the end of a line that somebody else has begun', () => {
  const { io, screen } = terminal();
  const line = openBottom(io, (text) => text);
  line.show('status');
  io.stdout.write('a ');
  line.show('other');
  io.stdout.write('b\nc');
  expect(screen()).toEqual(['a b', 'c']);
  io.stdout.write('d\n');
  expect(screen()).toEqual(['a b', 'cd', 'other']);
});

it('is cut to the window, and leaves no trace when there was nothing to show', () => {
  const narrow = terminal(10);
  openBottom(narrow.io, (text) => text).show('邮件邮件邮件邮件');
  expect(narrow.screen()).toEqual(['邮件邮件…']);
  const empty = terminal();
  const line = openBottom(empty.io, (text) => text);
  empty.io.stdout.write('x\n');
  line.end();
  expect(empty.written()).toBe('x\n');
});
