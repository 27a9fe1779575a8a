/** What the jobs need from the world around them. Made once at the edge and handed in, so jobs stay portable. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { openDatabase, type ShopDatabase } from './database.ts';

export interface OutgoingMail {
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly attachments: readonly { readonly filename: string; readonly path: string }[];
}

export interface Mailer {
  send(mail: OutgoingMail): Promise<void>;
  close(): void;
}

export interface Services {
  readonly db: ShopDatabase;
  readonly mailer: Mailer;
  /** Files are read from and written below this folder. */
  readonly folder: string;
  readonly webhookUrl: string;
  readonly paymentUrl: string;
  close(): void;
}

export interface ServiceOptions {
  readonly folder: string;
  /** For example `smtp://127.0.0.1:2525`. */
  readonly smtpUrl: string;
  readonly webhookUrl: string;
  readonly paymentUrl: string;
}

export function createServices({ folder, smtpUrl, webhookUrl, paymentUrl }: ServiceOptions): Services {
  for (const name of ['invoices', 'thumbnails', 'reports'])
    mkdirSync(join(folder, name), { recursive: true });
  const db = openDatabase(join(folder, 'shop.db'));
  const mailer = smtpMailer(smtpUrl);
  return {
    db,
    mailer,
    folder,
    webhookUrl,
    paymentUrl,
    close() {
      mailer.close();
      db.close();
    },
  };
}

function smtpMailer(url: string): Mailer {
  const transport = createTransport({ url, pool: true, maxConnections: 3 });
  return {
    async send({ messageId, attachments, ...mail }) {
      const from = 'Harbour Goods <billing@harbour.example>';
      await transport.sendMail({ ...mail, from, messageId, attachments: [...attachments] });
    },
    close: () => transport.close(),
  };
}
