#!/usr/bin/env node
/**
 * The entry of `longshore`. It checks the version of Node before it imports anything, so that an old Node prints a message
 * and not a syntax error. Keep the syntax of this file at ES2017.
 */

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major < 22 || (major === 22 && minor < 18)) {
  const message = `Longshore needs Node 22.18 or newer, this is ${process.versions.node}. Install a newer Node (https://nodejs.org) and run it again.`;
  const text =
    process.argv.indexOf('--json') > 0
      ? JSON.stringify({ error: { code: 'CONFIG', message } })
      : `CONFIG: ${message}`;
  process.stderr.write(`${text}\n`);
  process.exitCode = 1;
} else if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  // Scripts ask for it, and the rest of the command line takes longer to load than Node to start.
  import('./version.ts').then(({ version }) => process.stdout.write(`${version()}\n`));
} else {
  import('./process.ts').then(({ runProcess }) => runProcess(import.meta.filename));
}
