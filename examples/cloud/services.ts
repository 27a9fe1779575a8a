/**
 * What jobs need where they run as functions: a database and files that every instance shares, because the next job of an order runs
 * on another one. A setting that is missing is reported by the first job that needs it: a function that runs none has none.
 */

import type { Files } from '../app/files.ts';
import { createServices, type Mailer, type Services, smtpMailer } from '../app/services.ts';
import { postgresDatabase } from './database.ts';

/** The templates set what a function needs. */
export function required(name: string): string {
  const value = process.env[name];
  if (value) return value;
  throw new Error(`Expected ${name} in the environment, got nothing. Deploy with the template.`);
}

export function functionServices(files: Files): Services {
  const { SHOP_FOLDER: folder, WEBHOOK_URL: webhookUrl = '', PAYMENT_URL: paymentUrl = '' } = process.env;
  // In a simulation all instances are on one machine.
  if (folder) return createServices({ folder, smtpUrl: required('SMTP_URL'), webhookUrl, paymentUrl });
  let mailer: Mailer | undefined;
  return {
    db: postgresDatabase(() => required('SHOP_DATABASE_URL')),
    files,
    mailer: {
      async send(mail) {
        mailer ??= smtpMailer(required('SMTP_URL'));
        await mailer.send(mail);
      },
    },
    webhookUrl,
    paymentUrl,
  };
}
