/** A mail server in this process: takes every mail and keeps it, delivers none. */

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly to: string;
  readonly messageId: string;
  /** The attached file's name, and whether its bytes begin like a PDF. */
  readonly attachment: { readonly filename: string; readonly isPdf: boolean } | null;
}

export interface Mailbox {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  close(): Promise<void>;
}

export async function openMailbox(): Promise<Mailbox> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 500, // a sender that keeps its connections need not be waited for
    logger: false,
    async onData(stream, session, done) {
      try {
        const parts: Buffer[] = [];
        for await (const part of stream) parts.push(part as Buffer);
        const to = session.envelope.rcptTo.map(({ address }) => address).join(', ');
        mails.push(readMail(to, Buffer.concat(parts).toString('latin1')));
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  server.on('error', () => {}); // a client that hangs up in the middle is its own problem
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** As much MIME as the demo sends: the part of type application/pdf, in base64. */
function readMail(to: string, text: string): ReceivedMail {
  const messageId = /^Message-ID: (\S+)/im.exec(text)?.[1] ?? '';
  const pdf = /Content-Type: application\/pdf;([\s\S]*?)\r\n\r\n([A-Za-z0-9+/]{8})/i.exec(text);
  if (!pdf) return { to, messageId, attachment: null };
  const filename = /name="?([^"\r\n;]+)/i.exec(pdf[1]!)?.[1] ?? '';
  const isPdf = Buffer.from(pdf[2]!, 'base64').toString('latin1').startsWith('%PDF');
  return { to, messageId, attachment: { filename, isPdf } };
}
