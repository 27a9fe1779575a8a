import { errorText } from '../../../core/base/failure.ts';
import { getDeadLetter } from '../../../core/kit/records/dead-letter-pages.ts';
import type { DeadLetterDetail } from '../../../core/operations/types.ts';
import { defineCommand, type Input } from '../definition.ts';
import { notFound } from '../errors.ts';
import { stackLines } from '../output/stack.ts';
import { span, when } from '../output/ui.ts';
import { attemptsTable, payloadText, withoutStack } from './attempts.ts';
import { deadAdmin, deadIds } from './dead-filter.ts';
import { idArgs } from './job-ids.ts';

export const showDead = defineCommand({
  path: 'dead show',
  backends: 'of-ids',
  summary: 'show one dead letter with its payload and its attempts',
  about:
    'Values under names that look like secrets are masked. With --body it prints the stored text too, payload and signature included: handle it like the data in it.',
  args: idArgs,
  flags: { body: { flags: '--body', text: 'print the stored text too' } },
  examples: ['longshore dead show 0199a1b2-c3d4-7e5f'],
  exits: { 3: 'no such dead letter' },
  async run({ args, flags, session, ui, io }) {
    const admin = await deadAdmin(session);
    const [wanted = ''] = await deadIds(session, args);
    const { deadLetters } = await session.operator();
    const detail = await deadLetters.show(wanted);
    if (!detail) throw notFound(`There is no dead letter ${wanted} here. See \`longshore dead list\`.`);
    const { letter, attempts, ...rest } = detail;
    const body = flags.body ? ((await getDeadLetter(admin.deadLetters, wanted))?.body ?? null) : null;
    const stack = stackOf(detail);
    const parts = [
      ui.facts([...factsOf(detail, io.clock.now()), ['body', body]]),
      attemptsTable(attempts, null, ui),
      stack === null ? '' : stackLines(stack, ui, io.cwd),
    ];
    const shown = { ...letter, ...rest, attempts: attempts.map(withoutStack), stack };
    return {
      data: { deadLetter: { ...shown, ...(body !== null && { body }) } },
      text: parts.filter((part) => part !== '').join('\n\n'),
    };
  },
});

type Facts = Parameters<Input['ui']['facts']>[0];

function factsOf({ letter, envelope, payload, editable, expired }: DeadLetterDetail, now: number): Facts {
  const { idempotencyKey: key = null, expiresAt = null, context = null, kid = null } = envelope ?? {};
  return [
    ['id', letter.id],
    ['job', letter.job],
    ['queue', letter.queue],
    ['reason', letter.reason],
    ['error', letter.error],
    ['group', letter.fingerprint],
    ['runs', envelope ? `${letter.attempt} of ${envelope.maxRetries + 1}` : String(letter.attempt)],
    ['died', `${when(letter.diedAt)} (${span(now - letter.diedAt)} ago)`],
    ['size', `${letter.bytes} bytes`],
    ['tenant', letter.tenantId],
    ['request', context?.requestId ?? null],
    ['trace', context?.traceparent ?? null],
    ['key', key],
    ['enqueued', envelope && when(envelope.issuedAt)],
    ['expires', expiresAt === null ? null : `${when(expiresAt)}${expired ? ', which is over' : ''}`],
    ['signed by', kid],
    ['payload', payload && payloadText(payload)],
    ['editable', editable === true ? 'yes: longshore dead edit' : editable],
  ];
}

/** Of its last attempt, where its record tells of the same death. */
function stackOf({ letter, attempts }: DeadLetterDetail): string | null {
  const last = attempts.at(-1)?.error;
  return last && errorText(last) === letter.error ? (last.stack ?? null) : null;
}
