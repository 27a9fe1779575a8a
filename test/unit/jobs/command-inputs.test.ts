/** Wrong definitions and wrong payloads of commandJob: each gets a code and a message that says what to do. */

import { describe, expect, it } from 'vitest';
import { type CommandJobDefinition, commandJob } from '../../../core/jobs/command.ts';
import { testJobs } from '../../testing/index.ts';
import { refused } from './kit.ts';

const allow = ['/bin/echo'];

describe('commandJob() refuses a definition', () => {
  it.each<[definition: unknown, message: RegExp]>([
    [undefined, /^commandJob\(\) expects an object of options, got undefined\.$/],
    [['/bin/echo'], /expects an object of options, got an array/],
    [{}, /expects allow to be a list of strings, got undefined/],
    [{ allow: '/bin/echo' }, /expects allow to be a list of strings, got "\/bin\/echo"/],
    [{ allow: [5] }, /expects allow to be a list of strings, got 5 in it/],
    [{ allow: ['echo'] }, /each of allow to be an absolute path, got "echo"/],
    [{ allow: ['./echo'] }, /each of allow to be an absolute path/],
    [{ allow: [''] }, /each of allow to be an absolute path, got ""/],
    [{ allow: ['/bin/echo\0'] }, /each of allow to be an absolute path/],
    [{ allow, allowed: [] }, /has no option "allowed"\. Its options are name, .*, allow, cwd/],
    [{ allow, shell: true }, /has no option "shell"/],
    [{ allow, name: 'a b' }, /A job's name must match/],
    [{ allow, name: null }, /expects name to be a string, got null/],
    [{ allow, queue: '' }, /A queue's name must match/],
    [{ allow, retry: 'often' }, /expects retry to be a function, got "often"/],
    [{ allow, timeoutMs: -1 }, /Expected timeoutMs of job "command"/],
    [{ allow, maxRetries: 0.5 }, /Expected maxRetries of job "command"/],
    [{ allow, cwd: 'data' }, /expects cwd to be an absolute path, got "data"/],
    [{ allow, cwd: 5 }, /expects cwd to be an absolute path, got 5/],
    [{ allow, env: ['A=hunter2'] }, /expects env to be an object of strings, got an array/],
    [{ allow, env: { A: 5 } }, /expects env to have names and strings without NUL, got another "A"/],
    [{ allow, env: { A: undefined } }, /got another "A"/],
    [{ allow, env: { 'A=B': 'hunter2' } }, /got another "A=B"/],
    [{ allow, env: { '': 'hunter2' } }, /got another ""/],
    [{ allow, env: { A: 'hunter2\0' } }, /got another "A"/],
    [{ allow, envNames: 'A' }, /expects envNames to be a list of strings, got "A"/],
    [{ allow, envNames: ['A B'] }, /each of envNames to be a variable's name, got "A B"/],
    [{ allow, envNames: ['1A'] }, /each of envNames to be a variable's name/],
    [
      { allow, envNames: ['PATH'] },
      /does not let a payload set PATH: it decides which code runs\. Set it in env/,
    ],
    [{ allow, envNames: ['LD_PRELOAD'] }, /does not let a payload set LD_PRELOAD/],
    [{ allow, envNames: ['LD_LIBRARY_PATH'] }, /does not let a payload set/],
    [{ allow, envNames: ['DYLD_INSERT_LIBRARIES'] }, /does not let a payload set/],
    [{ allow, envNames: ['NODE_OPTIONS'] }, /does not let a payload set/],
    [{ allow, envNames: ['BASH_ENV'] }, /does not let a payload set/],
    [{ allow, envNames: ['ENV'] }, /does not let a payload set/],
    [{ allow, envNames: ['IFS'] }, /does not let a payload set/],
    [{ allow, envNames: ['PYTHONPATH'] }, /does not let a payload set/],
    [{ allow, envNames: ['PERL5LIB'] }, /does not let a payload set/],
    [{ allow, envNames: ['GIT_SSH_COMMAND'] }, /does not let a payload set/],
    ...[
      ...['JDK_JAVA_OPTIONS', '_JAVA_OPTIONS', 'CLASSPATH', 'OPENSSL_CONF', 'LUA_INIT', 'PHPRC', 'HOME'],
      ...['DOTNET_STARTUP_HOOKS', 'CORECLR_PROFILER', 'GLIBC_TUNABLES', 'GEM_HOME', 'LESSOPEN', 'EDITOR'],
    ].map((name): [unknown, RegExp] => [{ allow, envNames: [name] }, /does not let a payload set/]),
    [{ allow, envNames: ['LONGSHORE_PREVIOUSLY_CRASHED'] }, /does not let a payload set/],
    [
      { allow, maxOutputBytes: 1 },
      /Expected maxOutputBytes of commandJob\(\) to be an integer of 2 or more, got 1/,
    ],
    [{ allow, maxOutputBytes: 32_769 }, /maxOutputBytes of commandJob\(\) to be at most 32768, got 32769/],
    [{ allow, maxOutputBytes: '1k' }, /Expected maxOutputBytes of commandJob\(\)/],
    [
      { allow, killAfterMs: -1 },
      /Expected killAfterMs of commandJob\(\) to be an integer of 0 or more, got -1/,
    ],
    [{ allow, onPreviousCrash: 'retry' }, /expects onPreviousCrash to be "run" or "fail", got "retry"/],
  ])('%j', async (definition, message) => {
    const error = await refused(() => commandJob(definition as CommandJobDefinition));
    expect(error).toEqual({ code: 'CONFIG', message: expect.stringMatching(message) });
    expect(error.message).not.toContain('hunter2');
  });

  it.each(['A', 'GITHUB_RUN', 'ENVIRONMENT', 'PATHS', 'LDAP', 'DATABASE_URL', '_x'])(
    'but lets a payload set %s',
    (name) => {
      expect(commandJob({ allow, envNames: [name] }).name).toBe('command');
    },
  );
});

describe('a command job refuses a payload', () => {
  const job = commandJob({ allow, envNames: ['LEVEL'] });
  const command = '/bin/echo';

  it.each<[payload: unknown, message: RegExp]>([
    [undefined, /schema of job "command": payload: expected an object, got undefined/],
    ['/bin/echo', /payload: expected an object, got a string/],
    [['/bin/echo'], /payload: expected an object, got an array/],
    [{}, /command: expected a string, got undefined/],
    [{ command: 5 }, /command: expected a string, got a number/],
    [{ command: '' }, /command: expected an absolute path, got ""/],
    [{ command: 'echo' }, /command: expected an absolute path, got "echo"/],
    [{ command: './echo' }, /command: expected an absolute path/],
    [{ command: '/bin/echo\0' }, /command: expected an absolute path/],
    [{ command, arguments: [] }, /has no member "arguments", its members are command, args, env, stdin/],
    [{ command, shell: true }, /has no member "shell"/],
    [{ command, cwd: '/' }, /has no member "cwd"/],
    [{ command, args: 'hunter2' }, /args: expected a list of strings, got a string/],
    [{ command, args: { 0: 'hunter2' } }, /args: expected a list of strings, got an object/],
    [{ command, args: null }, /args: expected a list of strings, got null/],
    [{ command, args: ['a', 5] }, /args\.1: expected a string, got a number/],
    [{ command, args: [['hunter2']] }, /args\.0: expected a string, got an array/],
    [{ command, args: [null] }, /args\.0: expected a string, got null/],
    [{ command, args: ['hunter2\0'] }, /args\.0: expected text without NUL characters/],
    [{ command, args: new Array(1025).fill('x') }, /args: expected at most 1024 arguments, got 1025/],
    [{ command, env: 'LEVEL=1' }, /env: expected an object of names and strings, got a string/],
    [{ command, env: ['LEVEL'] }, /env: expected an object of names and strings, got an array/],
    [{ command, env: { OTHER: 'hunter2' } }, /env: "OTHER" is not in envNames/],
    [{ command, env: { PATH: '/evil' } }, /env: "PATH" is not in envNames/],
    [{ command, env: { LD_PRELOAD: '/evil.so' } }, /env: "LD_PRELOAD" is not in envNames/],
    [{ command, env: { level: '1' } }, /env: "level" is not in envNames/],
    [{ command, env: { LEVEL: 1 } }, /env\.LEVEL: expected a string, got a number/],
    [{ command, env: { LEVEL: 'hunter2\0' } }, /env\.LEVEL: expected text without NUL characters/],
    [{ command, stdin: 5 }, /stdin: expected a string, got a number/],
    [{ command, stdin: null }, /stdin: expected a string, got null/],
    [{ command, stdin: ['hunter2'] }, /stdin: expected a string, got an array/],
  ])('%j', async (payload, message) => {
    const error = await refused(() => testJobs(job).enqueue(job, payload as never));
    expect(error).toEqual({ code: 'PAYLOAD', message: expect.stringMatching(message) });
    expect(error.message).not.toContain('hunter2');
  });
});
