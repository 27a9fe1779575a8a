/** What the command lines of the clouds may be: their flags, copied from the reference of each program. */

interface Command {
  readonly flags: readonly string[];
  /** Without them the command fails, or asks a question. */
  readonly needs?: readonly string[];
}

export const cloudCommands: Readonly<Record<string, Command>> = {
  'aws secretsmanager create-secret': {
    flags: ['--name', '--secret-string', '--description', '--region'],
    needs: ['--name', '--secret-string'],
  },
  'aws secretsmanager put-secret-value': {
    flags: ['--secret-id', '--secret-string', '--region'],
    needs: ['--secret-id', '--secret-string'],
  },
  'aws sns subscribe': {
    flags: ['--topic-arn', '--protocol', '--notification-endpoint', '--region'],
    needs: ['--topic-arn', '--protocol', '--notification-endpoint'],
  },
  'az login': { flags: [] },
  'az group create': { flags: ['-n', '-l'], needs: ['-n', '-l'] },
  'az deployment group create': { flags: ['-g', '-f', '-p', '-n'], needs: ['-g', '-f'] },
  'az monitor action-group create': { flags: ['-g', '-n', '--action'], needs: ['-g', '-n'] },
  'az servicebus queue create': {
    flags: [
      ...['-g', '--namespace-name', '-n', '--lock-duration', '--max-delivery-count'],
      ...['--enable-session', '--enable-duplicate-detection', '--duplicate-detection-history-time-window'],
    ],
    needs: ['-g', '--namespace-name', '-n'],
  },
  // Without the language it looks for local.settings.json, which is not in the folder that is published.
  'func azure functionapp publish': { flags: ['--javascript', '--no-build'], needs: ['--javascript'] },
  'npm ci': { flags: [] },
  'npm install': { flags: ['--save-dev', '--prefix', '--os', '--cpu', '--libc'] },
};

/** A command as a shell would run it: its words, without what is in quotes and substitutions taken apart. */
export function commandsIn(script: string): string[][] {
  const lines = script.replaceAll(/\\\n\s*/g, ' ').split('\n');
  return lines
    .flatMap((line) => wordsOf(line).join('\0').split('\0&&\0'))
    .map((text) => text.split('\0'))
    .map((words) => words.slice(words.findIndex((word) => !/^([A-Z_]+=|npx$)/.test(word))))
    .filter(([program]) => program);
}

function wordsOf(line: string): string[] {
  const word = /(?:"(?:\$\([^)]*\)|[^"])*"|'[^']*'|\$\([^)]*\)|[^\s"'])+/g;
  const words: string[] = line.match(word) ?? [];
  const comment = words.findIndex((one) => one.startsWith('#'));
  return comment === -1 ? words : words.slice(0, comment);
}

/** The longest name that is known, so that `az group create` is not `az group`. */
export function nameOf(words: readonly string[], names: readonly string[]): string | undefined {
  const text = `${words.join(' ')} `;
  return names.filter((name) => text.startsWith(`${name} `)).sort((a, b) => b.length - a.length)[0];
}

export const flagsOf = (words: readonly string[]): string[] =>
  words.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.replace(/=.*/s, ''));
