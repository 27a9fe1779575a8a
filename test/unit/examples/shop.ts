/** The example shop in virtual time: its files and database in a folder that goes with the test, its mails in a list. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createExampleApp } from '../../../examples/app/app.ts';
import type { Files } from '../../../examples/app/files.ts';
import { createServices, type OutgoingMail } from '../../../examples/app/services.ts';
import { testApp } from '../../testing/index.ts';

export function openTestShop() {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-shop-'));
  const nowhere = 'http://127.0.0.1:1';
  const services = createServices({
    folder,
    smtpUrl: 'smtp://127.0.0.1:1',
    webhookUrl: nowhere,
    paymentUrl: nowhere,
  });
  const mails: OutgoingMail[] = [];
  /** A test may fail it, or do something at the same time. */
  const postman = { deliver: async (mail: OutgoingMail) => void mails.push(mail) };
  const mailer = { send: (mail: OutgoingMail) => postman.deliver(mail) };
  const { app, jobs } = createExampleApp({ ...services, mailer });
  return {
    folder,
    db: services.db,
    files: services.files as { -readonly [Verb in keyof Files]: Files[Verb] },
    jobs,
    mails,
    postman,
    t: testApp(app),
    close() {
      services.close();
      rmSync(folder, { recursive: true });
    },
  };
}
