import { duration } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';
import { defineCommand } from '../definition.ts';
import { usage } from '../errors.ts';
import { deadAdmin, deadIds } from './dead-filter.ts';
import { idArgs } from './job-ids.ts';
import { payloadFlag, payloadOf } from './payload-argument.ts';

export const expiresInFlag = {
  flags: '--expires-in <duration>',
  text: 'a new expiry, so long after now',
  parse: duration(1),
} as const;

export const editDead = defineCommand({
  path: 'dead edit',
  backends: 'of-ids',
  summary: 'give a dead letter another payload and run it again',
  about:
    'The old text has to verify with the keys of this app. The new payload is checked against the schema of the job and signed anew; the job keeps its id and counts its attempts from 1. A member that reads [masked], as `longshore dead show` prints it, keeps its old value.',
  args: idArgs,
  flags: {
    payload: payloadFlag,
    expiresIn: expiresInFlag,
    dryRun: { flags: '--dry-run', text: 'check it, and change nothing' },
  },
  examples: [
    `longshore dead edit 0199a1b2-c3d4-7e5f --payload '{"invoiceId":"1042"}'`,
    'longshore dead edit 0199a1b2-c3d4-7e5f --payload @mended.json --dry-run',
  ],
  exits: {
    1: 'failed, or the letter cannot be signed anew here; the message says why',
    2: 'the command line or the payload is wrong, and nothing was done',
    3: 'no such dead letter',
  },
  async run(input) {
    const { args, flags, session } = input;
    if (flags.payload === undefined)
      throw usage('Expected --payload with the new payload: JSON, @ and the name of a file, or -.');
    const payload = await payloadOf(input, flags.payload);
    await deadAdmin(session);
    const [wanted = ''] = await deadIds(session, args);
    const { deadLetters } = await session.operator();
    const { expiresIn, dryRun = false } = flags;
    await deadLetters.edit(wanted, { payload, dryRun, ...given({ expiresInMs: expiresIn }) });
    const done = `${wanted} has its new payload, and is ready to run.`;
    return {
      data: { id: wanted, dryRun },
      text: dryRun ? `${wanted} could be edited so. Nothing was changed.` : done,
    };
  },
});
