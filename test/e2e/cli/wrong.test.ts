/** Wrong command lines: each gets its exit code, a code, and a message that says what to do. Nothing else happens. */

import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { cli, json, makeProject, shopConfig } from './kit.ts';

const folder = makeProject({ 'longshore.config.ts': shopConfig, 'notes.txt': '' });
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const noId = '0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b';

/** The words of a line are split at spaces; what must stay together stands in an array. */
type Row = readonly [line: string | readonly string[], exit: number, code: string, says: RegExp];

const rows: readonly Row[] = [
  // no such command
  ['', 2, 'USAGE', /Expected a command after `longshore`, got none.*status.*--help/],
  ['stats', 2, 'USAGE', /no command `longshore stats`\. Did you mean "status"\?/],
  ['wrok', 2, 'USAGE', /Did you mean "work"\?/],
  ['enqeue greet {}', 2, 'USAGE', /Did you mean "enqueue"\?/],
  ['list', 2, 'USAGE', /no command `longshore list`/],
  ['frobnicate', 2, 'USAGE', /Known: init, dev, work, dashboard, enqueue/],
  ['help stats', 2, 'USAGE', /no command `longshore stats`\. Did you mean "status"\?/],
  ['jobs', 2, 'USAGE', /after `longshore jobs`, got none\. It has: list, show, cancel/],
  ['jobs lst', 2, 'USAGE', /`longshore jobs lst`\. Did you mean "list"\?/],
  ['dead', 2, 'USAGE', /It has: list, groups, show, edit, retry, discard/],
  ['dead purge', 2, 'USAGE', /no command `longshore dead purge`/],
  ['schedule', 2, 'USAGE', /It has: list, show, run/],
  ['keys', 2, 'USAGE', /It has: new, list/],
  ['keys show', 2, 'USAGE', /no command `longshore keys show`/],
  // flags nobody knows
  ['--verbose', 2, 'USAGE', /Unknown option '--verbose'.*See `longshore --help`/],
  ['status --jsn', 2, 'USAGE', /Did you mean --json\?/],
  ['jobs list --stauts failed', 2, 'USAGE', /Did you mean --status\?.*longshore jobs list --help/],
  ['status --queue mail', 2, 'USAGE', /Unknown option '--queue'/],
  ['work --max-job 3', 2, 'USAGE', /Did you mean --max-jobs\?/],
  ['work --until-idle', 2, 'USAGE', /no option --until-idle\. Did you mean --drain\?/],
  ['work -x', 2, 'USAGE', /Unknown option '-x'/],
  ['pause mail --yes', 2, 'USAGE', /Unknown option '--yes'/],
  // too few and too many words
  ['enqueue', 2, 'USAGE', /Missing required argument 'job'.*longshore enqueue --help/],
  ['enqueue greet', 2, 'USAGE', /Missing required argument 'json'/],
  ['enqueue greet {} {}', 2, 'USAGE', /Too many arguments/],
  ['jobs show', 2, 'USAGE', /Missing required argument 'id'/],
  [`jobs show ${noId} ${noId}`, 2, 'USAGE', /Too many arguments/],
  ['jobs cancel', 2, 'USAGE', /Missing required argument 'id'/],
  ['jobs promote', 2, 'USAGE', /Missing required argument 'id'/],
  [`jobs update ${noId}`, 2, 'USAGE', /Expected --payload, --delay, --run-at or --priority, got none/],
  [`jobs update ${noId} --payload {`, 2, 'USAGE', /Expected the payload as JSON/],
  ['jobs list mail', 2, 'USAGE', /Too many arguments/],
  ['pause', 2, 'USAGE', /Missing required argument 'queue'/],
  ['pause mail default', 2, 'USAGE', /Too many arguments/],
  ['clear --yes', 2, 'USAGE', /Missing required argument 'queue'/],
  ['schedule run', 2, 'USAGE', /Missing required argument 'name'/],
  ['tick now', 2, 'USAGE', /Too many arguments/],
  ['health deep', 2, 'USAGE', /Too many arguments/],
  ['jobs list --queue', 2, 'USAGE', /argument missing/],
  ['status --config', 2, 'USAGE', /argument missing/],
  // values that are none
  ['work --concurrency 0', 2, 'USAGE', /--concurrency.*'0' is invalid\. Expected an integer from 1 to 10000/],
  ['work --concurrency many', 2, 'USAGE', /'many' is invalid\. Expected an integer/],
  ['work --concurrency 1.5', 2, 'USAGE', /Expected an integer/],
  ['work --concurrency 1e3', 2, 'USAGE', /Expected an integer/],
  ['work --max-jobs -1', 2, 'USAGE', /'-1' is invalid\. Expected an integer of 1 or more/],
  ['work --max-jobs 99999999999999999999', 2, 'USAGE', /Expected an integer/],
  ['work --max-runtime 5x', 2, 'USAGE', /Expected a duration like 90s, 15m, 2h, 7d or plain milliseconds/],
  ['work --max-runtime 0', 2, 'USAGE', /Expected at least 1 ms/],
  ['work --max-memory lots', 2, 'USAGE', /Expected a size like 512mb/],
  ['work --max-memory 0', 2, 'USAGE', /Expected a size/],
  ['work --max-memory 5tb', 2, 'USAGE', /Expected a size/],
  ['work --lease 5', 2, 'USAGE', /Expected at least 100 ms/],
  ['work --log loud', 2, 'USAGE', /Expected one of pretty, json, none/],
  ['work --metrics-port 70000', 2, 'USAGE', /Expected an integer from 0 to 65535/],
  ['work --metrics-host 0.0.0.0', 2, 'USAGE', /Expected --metrics-port beside --metrics-host, got none/],
  [
    'work --metrics-port 0 --metrics-host 0.0.0.0',
    1,
    'CONFIG',
    /Expected a loopback host for metrics without/,
  ],
  ['work --once --drain', 2, 'USAGE', /'--once' cannot be used with option '--drain'/],
  ['work --once --max-jobs 2', 2, 'USAGE', /cannot be used with/],
  ['work --concurrency 2 --concurrency 3', 2, 'USAGE', /--concurrency once, got it twice/],
  [['work', 'no spaces please'], 2, 'USAGE', /Expected 1 to 128 of A-Z a-z 0-9 \. _ -/],
  [['status', 'mail/../etc'], 2, 'USAGE', /Expected 1 to 128 of/],
  ['status --every 5s', 2, 'USAGE', /Expected --watch beside --every/],
  ['status --watch --every 100', 2, 'USAGE', /Expected at least 200 ms/],
  ['metrics --queue mial', 3, 'NOT_FOUND', /no queue "mial" here\. Did you mean "mail"\?/],
  ['jobs list --status done', 2, 'USAGE', /Expected one of pending, processing[^:]*expired\. See /],
  [
    ['jobs', 'show', 'x'.repeat(200)],
    2,
    'USAGE',
    /Command-argument value 'x{60}…' is invalid .*Expected 1 to 128/,
  ],
  ['jobs list --status faild', 2, 'USAGE', /Did you mean "failed"\?/],
  ['jobs list --max 0', 2, 'USAGE', /Expected an integer from 1 to 10000/],
  ['jobs list --max 10001', 2, 'USAGE', /Expected an integer from 1 to 10000/],
  ['dead list --max all', 2, 'USAGE', /Expected an integer/],
  [['jobs', 'show', '../jobs.db'], 2, 'USAGE', /Expected 1 to 128 of/],
  ['purge --older-than week', 2, 'USAGE', /Expected a duration/],
  ['purge --older-than -7d', 2, 'USAGE', /Expected a duration/],
  ['purge --older-than 7days', 2, 'USAGE', /Expected a duration/],
  ['workers --since 0', 2, 'USAGE', /Expected at least 1 ms/],
  ['health --min-workers -1', 2, 'USAGE', /Expected an integer of 0 or more/],
  ['health --max-age soon', 2, 'USAGE', /Expected a duration/],
  ['keys new --kid a:b', 2, 'USAGE', /Expected 1 to 64 of/],
  // what is enqueued
  [
    'enqueue greet {name:1}',
    2,
    'USAGE',
    /Expected the payload as JSON, got 8 characters.*Quote it for the shell/,
  ],
  [['enqueue', 'greet', "{'name':'Ada'}"], 2, 'USAGE', /not JSON.*Quote it/],
  [['enqueue', 'greet', ''], 2, 'USAGE', /got nothing/],
  ['enqueue greet -', 2, 'USAGE', /got nothing\. Send one JSON value on stdin/],
  ['enqueue greet {}', 2, 'PAYLOAD', /name/],
  ['enqueue greet {"name":1}', 2, 'PAYLOAD', /name/],
  ['enqueue greet null', 2, 'PAYLOAD', /greet/],
  ['enqueue gret {"name":"Ada"}', 2, 'UNKNOWN_JOB', /no job "gret"\. Did you mean "greet"\?/],
  ['enqueue nothing.like.it {}', 2, 'UNKNOWN_JOB', /Known: greet, mail\.send, slow/],
  [['enqueue', 'no job', '{}'], 2, 'USAGE', /Expected 1 to 128 of/],
  ['enqueue greet {} --priority urgent', 2, 'USAGE', /Expected 0 \(first\) to 9 \(last\) or one of critical/],
  ['enqueue greet {} --priority 10', 2, 'USAGE', /Expected 0 \(first\)/],
  ['enqueue greet {} --priority hihg', 2, 'USAGE', /Did you mean "high"\?/],
  ['enqueue greet {} --delay tomorrow', 2, 'USAGE', /Expected a duration/],
  [
    'enqueue greet {} --run-at tomorrow',
    2,
    'USAGE',
    /Expected a moment with its time zone, like 2030-01-31T18:00:00Z/,
  ],
  ['enqueue greet {} --run-at 2030-01-31', 2, 'USAGE', /time zone/],
  ['enqueue greet {} --run-at 2030-01-31T18:00:00', 2, 'USAGE', /time zone/],
  ['enqueue greet {} --run-at 2030-13-31T18:00:00Z', 2, 'USAGE', /time zone/],
  ['enqueue greet {} --delay 1h --run-at 2030-01-31T18:00:00Z', 2, 'USAGE', /cannot be used with/],
  [['enqueue', 'greet', '{}', '--key', ''], 2, 'USAGE', /Expected 1 to 256 characters/],
  ['enqueue greet {} --max-retries -1', 2, 'USAGE', /Expected an integer of 0 or more/],
  ['enqueue greet {} --queue a:b', 2, 'USAGE', /Expected 1 to 128 of/],
  // nothing there
  [
    `jobs show ${noId}`,
    3,
    'NOT_FOUND',
    /There is no job .* or it is no longer kept\. See `longshore jobs list`/,
  ],
  [`dead show ${noId}`, 3, 'NOT_FOUND', /no dead letter .*longshore dead list/],
  ['status mial', 3, 'NOT_FOUND', /no queue "mial" here\. Did you mean "mail"\?/],
  ['dead list --queue nowhere', 3, 'NOT_FOUND', /Known: default, mail/],
  ['dead retry --all --queue mial', 3, 'NOT_FOUND', /Did you mean "mail"\?/],
  ['pause mial', 3, 'NOT_FOUND', /Did you mean "mail"\?/],
  ['resume nowhere', 3, 'NOT_FOUND', /Known: /],
  ['clear mial --yes', 3, 'NOT_FOUND', /Did you mean "mail"\?/],
  ['reap mial', 3, 'NOT_FOUND', /Did you mean "mail"\?/],
  ['schedule run hourli', 3, 'NOT_FOUND', /Did you mean "hourly"\?/],
  // what would be gone for good
  ['clear mail', 2, 'CONFIRM', /remove waiting jobs for good\. Add --yes/],
  ['purge --older-than 7d', 2, 'CONFIRM', /Add --yes/],
  ['purge --dry-run', 2, 'USAGE', /Add --older-than 7d or --dead-older-than 90d/],
  ['dead discard --all', 2, 'CONFIRM', /remove dead letters for good\. Add --yes/],
  [`dead discard ${noId}`, 2, 'CONFIRM', /Add --yes/],
  ['dead discard --yes', 2, 'USAGE', /Expected the ids of dead letters, a filter .* or --all/],
  ['dead retry', 2, 'USAGE', /Expected the ids of dead letters, a filter .* or --all/],
  [`dead retry ${noId} --all`, 2, 'USAGE', /either ids or --all, got both/],
  [`dead retry ${noId} --job greet`, 2, 'USAGE', /either ids or a filter .* got both/],
  ['dead retry --all --stop-above 101', 2, 'USAGE', /Expected an integer from 0 to 100/],
  ['dead retry --all --max 0', 2, 'USAGE', /Expected an integer of 1 or more/],
  ['dead retry --all --limit 5', 2, 'USAGE', /no option --limit\. Did you mean --max\?/],
  ['jobs list --limit 5', 2, 'USAGE', /no option --limit\. Did you mean --max\?/],
  ['dead discard --group x', 2, 'CONFIRM', /Add --yes/],
  [`dead edit ${noId}`, 2, 'USAGE', /Expected --payload/],
  [`dead edit ${noId} --payload {`, 2, 'USAGE', /Expected the payload as JSON/],
  [`dead edit ${noId} --payload @nowhere.json`, 2, 'USAGE', /could not read .*nowhere\.json/],
  [`dead edit ${noId} --payload {}`, 3, 'NOT_FOUND', /no dead letter/],
  ['dead retry --all --rate 0', 2, 'USAGE', /Expected an integer from 1 to 10000/],
  ['dead retry --all --reason exausted', 2, 'USAGE', /Did you mean "exhausted"\?/],
  ['dead discard --all --yes --older-than soon', 2, 'USAGE', /Expected a duration/],
  [`dead retry ${noId} --queue mail`, 2, 'USAGE', /either ids or a filter .* got both/],
  // configs that are not there
  ['status --config nowhere.ts', 2, 'CONFIG', /There is no file .*nowhere\.ts\. Correct --config/],
  ['status --config notes.txt', 2, 'CONFIG', /Expected --config to name a \.ts/],
  ['status --config .', 2, 'CONFIG', /Expected --config to name a \.ts/],
];

const words = (line: Row[0]): readonly string[] =>
  typeof line === 'string' ? line.split(' ').filter((word) => word !== '') : line;

describe('a wrong command line', () => {
  it.each(rows)('%j ends with %i %s', async (line, exit, code, says) => {
    const plain = await cli(folder, words(line));
    expect({ code: plain.code, stdout: plain.stdout }).toEqual({ code: exit, stdout: '' });
    expect(plain.stderr).toMatch(says);
    expect(plain.stderr.startsWith(`${code}: `)).toBe(true);
    expect(plain.stderr.trimEnd().split('\n')).toHaveLength(1);

    const machine = await cli(folder, ['--json', ...words(line)]);
    expect({ code: machine.code, stdout: machine.stdout }).toEqual({ code: exit, stdout: '' });
    const { error } = JSON.parse(machine.stderr);
    expect(Object.keys(error)).toEqual(['code', 'message']);
    expect(error.code).toBe(code);
    expect(error.message).toMatch(says);
  });

  it('never repeats a payload', async () => {
    for (const words of [['{"name": hunter2}'], ['{"name":', 'hunter2}'], ['{"nome":"hunter2"}']]) {
      const { code, stderr } = await cli(folder, ['enqueue', 'greet', ...words]);
      expect(code).toBe(2);
      expect(stderr).not.toContain('hunter2');
    }
  });

  it('shows a stack with LONGSHORE_DEBUG=1 and else not', async () => {
    const argv = ['status', '--config', 'nowhere.ts'];
    const env = { LONGSHORE_DEBUG: '1' };
    expect((await cli(folder, argv, { env })).stderr).toMatch(/\n {4}at /);
    expect((await cli(folder, argv)).stderr).not.toMatch(/\n {4}at /);
    const { error } = JSON.parse((await cli(folder, [...argv, '--json'], { env })).stderr);
    expect(Object.keys(error)).toEqual(['code', 'message', 'stack']);
  });
});

describe('several ids', () => {
  it.each([
    [['dead', 'retry', noId], { retried: 0, missing: [noId] }],
    [['dead', 'retry', '--all'], { retried: 0, missing: [] }],
    [['dead', 'discard', noId, '--yes'], { discarded: 0, missing: [noId] }],
    [['dead', 'discard', '--all', '--yes'], { discarded: 0, missing: [] }],
    [['jobs', 'cancel', noId], { cancelled: 0, results: { [noId]: 'unknown' } }],
    [['jobs', 'promote', noId], { promoted: 0, results: { [noId]: false } }],
    [['jobs', 'remove', noId], { removed: 0, results: { [noId]: false } }],
    [['jobs', 'update', noId, '--priority', 'low'], { id: noId, updated: false }],
  ])('of which none is there: %j ends with 3', async (argv, data) => {
    expect(await json(folder, argv)).toMatchObject({ code: 3, data, stderr: '' });
  });

  it.each([
    ['dead list', 0],
    ['dead retry', 3],
    ['dead discard --yes', 3],
  ])('%s of a job that the app does not know suggests the nearest name', async (line, code) => {
    const job = async (name: string) => cli(folder, [...line.split(' '), '--job', name]);
    expect(await job('mail.sent')).toMatchObject({
      code,
      stdout: 'No such dead letters. The app has no job "mail.sent". Did you mean "mail.send"?\n',
    });
    expect((await job('other')).stdout).toMatch(/no job "other"\. Known: greet, mail\.send, slow\.\n$/);
    expect((await job('greet')).stdout).toBe('No such dead letters.\n');
  });

  it('of which some are there end with 1', async () => {
    const { data } = await json(folder, ['enqueue', 'greet', '{"name":"Ada"}', '--delay', '1h']);
    const id = String(data!.id);
    expect(await json(folder, ['jobs', 'cancel', id, noId])).toMatchObject({
      code: 1,
      data: { cancelled: 1, results: { [id]: 'cancelled', [noId]: 'unknown' } },
    });
    expect(await json(folder, ['jobs', 'promote', id, noId])).toMatchObject({ code: 3 });
  });
});
