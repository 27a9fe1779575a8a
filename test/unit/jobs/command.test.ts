/** What a command job runs, with real executables. */

import { chmodSync, mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { type CommandJobDefinition, commandJob } from '../../../core/jobs/command.ts';
import { begin, runOnce } from './kit.ts';
import { folder } from './scripts.ts';

const output = (stdout: string, stderr = '') => ({
  exitCode: 0,
  stdout,
  stderr,
  durationMs: expect.any(Number),
});

describe('a command', () => {
  it.each([
    ['spaces', 'a  b '],
    ['nothing', ''],
    ['quotes', `"a" 'b' \\"c\\"`],
    ['line breaks', 'a\nb\r\nc'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: text for a shell that must not be there
    ['a shell line', '; touch hacked; echo `id` $(id) ${HOME} $HOME && exit 1 | cat > x < y & #'],
    ['patterns', '* ? [a-z] ~ {a,b} !1'],
    ['an option', '-n'],
    ['unicode', 'grüße 😀\u2028'],
    ['a backslash at the end', 'a\\'],
  ])('gets an argument of %s as it is', async (_, arg) => {
    const dir = folder();
    const command = dir.script('show', 'for arg in "$@"; do printf "<%s>" "$arg"; done');
    const job = commandJob({ allow: [command], cwd: dir.path });
    const result = await runOnce(job, { command, args: [arg, 'end'] });
    expect(result).toMatchObject({ outcome: 'acked', output: output(`<${arg}><end>`) });
  });

  it('has a clean environment', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'hunter2');
    const job = commandJob({
      allow: ['/usr/bin/env'],
      env: { REGION: 'eu', LEVEL: '1' },
      envNames: ['LEVEL', 'MORE'],
    });
    const result = await runOnce(job, { command: '/usr/bin/env', env: { LEVEL: '2' } });
    vi.unstubAllEnvs();
    const { stdout } = result.output as { stdout: string };
    expect(stdout.trimEnd().split('\n').toSorted()).toEqual([
      'LANG=C.UTF-8',
      'LEVEL=2',
      'PATH=/usr/local/bin:/usr/bin:/bin',
      'REGION=eu',
    ]);
  });

  it('works in cwd, or where the worker does', async () => {
    const dir = folder();
    const command = dir.script('where', 'pwd');
    expect(await runOnce(commandJob({ allow: [command], cwd: dir.path }), { command })).toMatchObject({
      output: output(`${dir.path}\n`),
    });
    expect(await runOnce(commandJob({ allow: [command] }), { command })).toMatchObject({
      output: output(`${process.cwd()}\n`),
    });
  });

  it('reads stdin, which is empty unless given', async () => {
    const job = commandJob({ allow: ['/bin/cat'] });
    const command = '/bin/cat';
    expect(await runOnce(job, { command, stdin: 'a\nü' })).toMatchObject({ output: output('a\nü') });
    expect(await runOnce(job, { command, stdin: '' })).toMatchObject({ output: output('') });
    expect(await runOnce(job, { command })).toMatchObject({ output: output('') });
  });

  it('need not read stdin', async () => {
    const job = commandJob({ allow: ['/bin/echo'] });
    const result = await runOnce(job, { command: '/bin/echo', args: ['x'], stdin: 'y'.repeat(900_000) });
    expect(result).toMatchObject({ outcome: 'acked', output: output('x\n') });
  });

  it.each(['stdout', 'stderr'] as const)('may write 10 MiB to %s', async (stream) => {
    const dir = folder();
    const to = stream === 'stderr' ? '>&2' : '';
    const command = dir.script(
      'loud',
      `printf first ${to}; head -c 10485760 /dev/zero | tr '\\0' x ${to}; printf last ${to}`,
    );
    const result = await runOnce(commandJob({ allow: [command], maxOutputBytes: 100 }), { command });
    const xs = (count: number) => 'x'.repeat(count);
    const kept = `first${xs(45)}\n[... 10485669 bytes left out ...]\n${xs(46)}last`;
    expect(result.output).toEqual(stream === 'stdout' ? output(kept) : output('', kept));
  });

  it('may write what is no text', async () => {
    const dir = folder();
    const command = dir.script('noise', 'head -c 40000 /dev/zero; printf "\\377\\376" >&2');
    const result = await runOnce(commandJob({ allow: [command], maxOutputBytes: 32_768 }), { command });
    expect(result).toMatchObject({
      outcome: 'acked',
      output: { stderr: '\ufffd\ufffd', stdout: expect.stringMatching(/^\0+/) },
    });
  });

  it.each([
    [
      'an exit code',
      'echo out; echo "went wrong" >&2; exit 3',
      /ended with exit code 3 after \d+ ms\. The end of its stderr:\nwent wrong$/,
    ],
    ['silence', 'exit 1', /ended with exit code 1 after \d+ ms\.$/],
    ['a signal', 'kill -SEGV $$', /was ended by SIGSEGV after \d+ ms\.$/],
    [
      'many words',
      'i=0; while [ $i -lt 400 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 9',
      /stderr:\n\.\.\.[\s\S]{999}9$/,
    ],
  ])('that fails with %s is retried', async (_, body, message) => {
    const dir = folder();
    const command = dir.script('fail', body);
    const result = await runOnce(commandJob({ allow: [command] }), { command, args: ['hunter2'] });
    expect(result).toMatchObject({ outcome: 'requeued', delayMs: 30_000 });
    expect(result.error?.message).toMatch(message);
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });
});

describe('what may run', () => {
  const permanent = async (definition: CommandJobDefinition, command: string, message: RegExp) => {
    const result = await runOnce(commandJob(definition), { command });
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
    expect(result.error?.message).toMatch(message);
  };

  it('is nothing with an empty list', async () => {
    await permanent({ allow: [] }, '/bin/echo', /^Command "\/bin\/echo" is not in allow\.$/);
  });

  it('is not what is off the list', async () => {
    const dir = folder();
    const good = dir.script('good', 'echo good');
    const evil = dir.script('evil', 'echo evil');
    await permanent({ allow: [good] }, evil, /not in allow/);
    await permanent({ allow: [dir.path] }, good, /not in allow/);
    await permanent({ allow: [good] }, `${good}x`, /is not there/);
    await permanent({ allow: [good] }, `${good}/../evil`, /is not there|not in allow/);
    await permanent({ allow: [good] }, `${dir.path}/./../${dir.path.split('/').pop()}/evil`, /not in allow/);
  });

  it('may be written in another way', async () => {
    const dir = folder();
    const good = dir.script('good', 'echo good');
    const job = commandJob({ allow: [good] });
    for (const command of [good, `${dir.path}/./good`, `${dir.path}//good`]) {
      expect(await runOnce(job, { command })).toMatchObject({ output: output('good\n') });
    }
  });

  it('is found through links on either side, as they are when it runs', async () => {
    const dir = folder();
    const good = dir.script('good', 'echo good');
    const evil = dir.script('evil', 'echo evil');
    const link = join(dir.path, 'link');
    symlinkSync(good, link);
    const byFile = commandJob({ allow: [good] });
    const byLink = commandJob({ allow: [link] });
    expect(await runOnce(byFile, { command: link })).toMatchObject({ output: output('good\n') });
    expect(await runOnce(byLink, { command: good })).toMatchObject({ output: output('good\n') });
    // Swapped after the definition: the payload's link now poses as an allowed command.
    symlinkSync(evil, `${link}.new`);
    renameSync(`${link}.new`, link);
    await permanent({ allow: [good] }, link, /not in allow/);
    expect((await runOnce(byFile, { command: link })).outcome).toBe('dead-lettered');
    // The list itself is what the operator says it is, now.
    expect((await runOnce(byLink, { command: good })).outcome).toBe('dead-lettered');
    expect(await runOnce(byLink, { command: evil })).toMatchObject({ output: output('evil\n') });
  });

  it('is called by its name on the list, so that a multi-call binary cannot be told to be another', async () => {
    const dir = folder();
    const box = dir.file('box', '');
    const [small, shell, alias] = ['small', 'shell', 'alias'].map((name) => join(dir.path, name));
    for (const link of [small!, shell!, alias!]) symlinkSync('/bin/sh', link);
    // `sh` says by which name it was called.
    const args = ['-c', 'echo "$0"'];
    const job = commandJob({ allow: [small!] });
    const called = async (of: typeof job, command: string) =>
      ((await runOnce(of, { command, args })).output as { stdout: string } | null)?.stdout.split('\n')[0];
    expect(await called(job, small!)).toBe(small);
    expect(await called(job, shell!)).toBe(small);
    const two = commandJob({ allow: [small!, alias!, box] });
    expect(await called(two, alias!)).toBe(alias);
    await permanent({ allow: [small!, alias!] }, shell!, /not in allow/);
  });

  it('is an executable file', async () => {
    const dir = folder();
    const plain = dir.file('plain', '#!/bin/sh\n');
    const sub = join(dir.path, 'sub');
    mkdirSync(sub);
    await permanent({ allow: [plain, sub] }, plain, /is not an executable file\.$/);
    await permanent({ allow: [plain, sub] }, sub, /is not an executable file\.$/);
    await permanent({ allow: ['/dev/null'] }, '/dev/null', /is not an executable file\.$/);
    await permanent({ allow: ['/nowhere/at/all'] }, '/nowhere/at/all', /^The command ".*" is not there\.$/);
    chmodSync(plain, 0o755);
    expect(await runOnce(commandJob({ allow: [plain] }), { command: plain })).toMatchObject({
      outcome: 'acked',
    });
  });

  it('is no script that a shell would have to read, because it does not name its interpreter', async () => {
    const dir = folder();
    const script = dir.file('script', 'echo "from a shell"\n', 0o755);
    const empty = dir.file('empty', '', 0o755);
    for (const command of [script, empty]) {
      await permanent({ allow: [command] }, command, /is neither a program nor a script that begins with #!/);
    }
  });

  it('ends for good when it cannot be started', async () => {
    const dir = folder();
    const lost = dir.file('lost', '#!/no/such/interpreter\n', 0o755);
    await permanent({ allow: [lost] }, lost, /could not be started: ENOENT\.$/);
    const command = dir.script('ok', '');
    await permanent(
      { allow: [command], cwd: join(dir.path, 'gone') },
      command,
      /^The working directory ".*" is not there\.$/,
    );
    const result = await runOnce(commandJob({ allow: [command] }), { command, args: ['x'.repeat(200_000)] });
    expect(result).toMatchObject({ outcome: 'dead-lettered' });
    expect(result.error?.message).toMatch(/could not be started: E2BIG\.$/);
  });
});

describe('after an attempt that took its worker down', () => {
  const body = 'echo "crashed=$LONGSHORE_PREVIOUSLY_CRASHED"';

  it('the command runs and is told', async () => {
    const dir = folder();
    const command = dir.script('again', `${body} > "$0.out"; ${body}; exit 7`);
    const { done } = await begin(commandJob({ allow: [command] }), { command }, { interrupted: true });
    expect((await done).error?.message).toMatch(/exit code 7/);
    expect(
      await runOnce(commandJob({ allow: ['/bin/cat'] }), { command: '/bin/cat', args: [`${command}.out`] }),
    ).toMatchObject({
      output: output('crashed=1\n'),
    });
  });

  it('and is told nothing otherwise', async () => {
    const dir = folder();
    const command = dir.script('first', body);
    expect(await runOnce(commandJob({ allow: [command] }), { command })).toMatchObject({
      output: output('crashed=\n'),
    });
  });

  it('or does not run', async () => {
    const dir = folder();
    const command = dir.script('once', 'touch "$0.ran"');
    const job = commandJob({ allow: [command], onPreviousCrash: 'fail' });
    const { done } = await begin(job, { command }, { interrupted: true });
    const result = await done;
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
    expect(result.error?.message).toMatch(
      /may have done half of its work\. It is not run again \(onPreviousCrash: "fail"\)\.$/,
    );
    expect(await runOnce(job, { command })).toMatchObject({ outcome: 'acked' });
  });
});
