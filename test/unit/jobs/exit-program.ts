/** A worker process that ends in the middle of a command, without waiting for anything. */

import { existsSync, readFileSync } from 'node:fs';
import { commandJob } from '../../../core/jobs/command.ts';
import { until } from '../../kit/until.ts';
import { begin } from './kit.ts';

const [command, pids] = process.argv.slice(2) as [string, string];
await begin(commandJob({ allow: [command], killAfterMs: 60_000 }), { command });
await until(() => existsSync(pids) && readFileSync(pids, 'utf8').split('\n').length > 3);
process.exit(0);
