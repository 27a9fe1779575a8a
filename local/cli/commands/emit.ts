import { flag } from '../config/flags.ts';
import { duration, name } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';
import { defineCommand } from '../definition.ts';
import { count, plain } from '../output/ui.ts';
import { payloadOf } from './payload-argument.ts';

export const emit = defineCommand({
  path: 'emit',
  summary: 'bring an event to the jobs that wait for it',
  about:
    'Each job that waits for the event, with this key or without one, goes on once. A command that has failed may be repeated: it reaches those that it has not reached. The audit log says who has emitted what, without the payload.',
  args: [{ name: '<event>', text: 'name of the event, as ctx.waitFor() has it', parse: name }],
  flags: {
    key: flag('--key <text>', 'reaches only jobs that wait with this key', String),
    payload: flag(
      '--payload <json>',
      'what the jobs get, as JSON, @ and the name of a file, or - to read it from stdin',
      String,
    ),
    keep: flag(
      '--keep <duration>',
      'jobs that begin to wait within this time get it too, at most 30 days',
      duration(),
    ),
  },
  examples: [
    `longshore emit packed --key 1042 --payload '{"by":"Anna"}'`,
    'longshore emit release-approved --keep 1h',
  ],
  async run(input) {
    const { args, flags, session } = input;
    const [event = ''] = args;
    const payload = flags.payload === undefined ? undefined : await payloadOf(input, flags.payload);
    const { events } = await session.operator();
    const reached = await events.emit(event, payload, given({ key: flags.key, keepMs: flags.keep }));
    const kept = flags.keep === undefined ? '' : ' It is kept for those that begin to wait.';
    return {
      data: { event, key: flags.key ?? null, reached },
      text: `${plain(event)} has reached ${count(reached, 'job')}.${kept}`,
    };
  },
});
