/** An SQS in a process of its own, as far away as the argument says: ms there and back. Prints its address. */

import { startSlow } from '../../kit/network/slow.ts';
import { startStrictSqs } from '../../kit/servers/strict-sqs.ts';

const { url } = await startStrictSqs();
const far = await startSlow(url, Number(process.argv[2]));
process.stdout.write(`${far.url.replace(/\/$/, '')}\n`);
