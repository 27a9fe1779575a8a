/** Calls the URL given on the command line, in a process whose environment names a proxy, and prints the outcome. */

import { urlJob } from '../../../core/jobs/url.ts';
import { runOnce, scriptedLookup } from './kit.ts';

const [port] = process.argv.slice(2);
const { lookup } = scriptedLookup({ 'hook.test': [['127.0.0.1']] });
const job = urlJob({ testing: { lookup }, allowPrivate: [`hook.test:${port}`] });
const { outcome } = await runOnce(job, { url: `http://hook.test:${port}/` });
process.stdout.write(outcome);
