/** What the example's jobs use where they run as functions. */

import { expect, it, vi } from 'vitest';
import { createExampleApp } from '../../../examples/app/app.ts';
import { functionServices } from '../../../examples/cloud/services.ts';

const settings = ['SHOP_FOLDER', 'SHOP_DATABASE_URL', 'SMTP_URL', 'WEBHOOK_URL', 'PAYMENT_URL'];
const mail = {
  messageId: '<1@shop.example>',
  to: 'ada@customer.example',
  subject: '',
  text: '',
  attachments: [],
};

it('needs no setting where no job runs, and names what is missing where one does', async () => {
  for (const name of settings) vi.stubEnv(name, undefined);
  const services = functionServices({} as never);
  expect(createExampleApp(services).app.queues).toContain('mail');
  await expect(services.db.order('A-1')).rejects.toThrow('Expected SHOP_DATABASE_URL in the environment');
  await expect(services.mailer.send(mail)).rejects.toThrow('Expected SMTP_URL in the environment');
});
