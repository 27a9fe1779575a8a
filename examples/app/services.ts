/** What the jobs need from the world around them. Made once at the edge and handed in, so jobs stay portable. */

import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { type LocalDatabase, openDatabase, type ShopDatabase } from './database.ts';
import { type Files, filesIn } from './files.ts';

export interface OutgoingMail {
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly attachments: readonly { readonly filename: string; readonly content: Buffer }[];
}

export interface Mailer {
  send(mail: OutgoingMail): Promise<void>;
}

export interface Services {
  readonly db: ShopDatabase;
  readonly files: Files;
  readonly mailer: Mailer;
  readonly webhookUrl: string;
  readonly paymentUrl: string;
}

/** On one machine. */
export interface LocalServices extends Services {
  readonly db: LocalDatabase;
  close(): void;
}

export interface ServiceOptions {
  /** For the files and the database. */
  readonly folder: string;
  /** For example `smtp://127.0.0.1:2525`. */
  readonly smtpUrl: string;
  readonly webhookUrl: string;
  readonly paymentUrl: string;
}

export function createServices({ folder, smtpUrl, ...urls }: ServiceOptions): LocalServices {
  const files = filesIn(folder);
  const db = openDatabase(join(folder, 'shop.db'));
  const mailer = smtpMailer(smtpUrl);
  return {
    db,
    files,
    mailer,
    ...urls,
    close() {
      mailer.close();
      db.close();
    },
  };
}

/** Connects with the first mail. */
export function smtpMailer(url: string): Mailer & { close(): void } {
  const transport = createTransport({ url, pool: true, maxConnections: 3 });
  return {
    async send({ messageId, attachments, ...mail }) {
      const from = 'Harbour Goods <billing@harbour.example>';
      await transport.sendMail({ ...mail, from, messageId, attachments: [...attachments] });
    },
    close: () => transport.close(),
  };
}
