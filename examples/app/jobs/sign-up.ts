/** A sign-up: one job that lives for days, and holds nothing while it waits. */

import * as z from 'zod';
import { type Client, defineJob, exponential, type Job } from '../../../core/index.ts';
import type { Services } from '../services.ts';

const payload = z.object({
  name: z.string().min(1),
  email: z.email(),
  /** Part of the link in the mails: whoever knows it has read them. */
  token: z.string().min(16),
});
type Payload = z.infer<typeof payload>;

const confirmed = 'customer.confirmed';

/** Text like `90s`, `3d`. */
export interface SignUpTimes {
  /** From the welcome to the reminder, and from there to the end. */
  readonly confirmWithin: string;
  readonly tipsAfter: string;
}

export function signUpJob({ mailer }: Services, { confirmWithin, tipsAfter }: SignUpTimes) {
  return defineJob({
    name: 'customer.sign-up',
    queue: 'mail',
    payload,
    unique: { during: 'either', key: ({ email }) => email }, // who presses the button twice gets one welcome
    maxRetries: 5,
    retry: exponential({ baseMs: 30_000 }),
    timeoutMs: 30_000, // of what runs between two waits
    async handle({ name, email, token }, ctx) {
      const mail = (step: string, subject: string, text: string) =>
        ctx.step(step, () =>
          mailer.send({
            messageId: `<${step}-${token}@harbour.example>`,
            to: email,
            subject,
            text: `Dear ${name},\n\n${text}\n\nHarbour Goods\n`,
            attachments: [],
          }),
        );
      const confirmation = (name: string) =>
        ctx.waitFor<{ newsletter: boolean }>(confirmed, { key: token, timeoutMs: confirmWithin, name });

      const link = `https://harbour.example/confirm/${token}`;
      await mail('welcome', 'Welcome aboard', `please confirm your address: ${link}`);
      let answer = await confirmation('first wait');
      if (!answer) {
        await mail('reminder', 'Are you still there?', `your address is not confirmed yet: ${link}`);
        answer = await confirmation('second wait');
      }
      if (!answer) return { confirmed: false };
      await ctx.sleep(tipsAfter);
      if (answer.payload.newsletter)
        await mail('tips', 'Three tips', 'coil your rope, dry your lamp, oil your coat.');
      return { confirmed: true };
    },
  });
}

/** What the web app does when somebody signs up. Resolves with the job's id; the token is for those who read the mail. */
export async function signUp(
  client: Client,
  job: Job<Payload>,
  who: { readonly name: string; readonly email: string },
): Promise<string> {
  return (await client.enqueue(job, { ...who, token: crypto.randomUUID() })).id;
}

const keepMs = 14 * 86_400_000;

/** What it does when the link was clicked. Kept, as the job may just be on its way to the wait. */
export async function confirm(client: Client, token: string, newsletter: boolean): Promise<void> {
  await client.emit(confirmed, { newsletter }, { key: token, keepMs });
}
