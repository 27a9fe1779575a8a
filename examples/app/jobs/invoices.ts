/** An invoice: drawn as a PDF by one job, mailed by the next. */

import { buffer } from 'node:stream/consumers';
import PdfDocument from 'pdfkit';
import * as z from 'zod';
import { defineJob, exponential, type Job, PermanentError } from '../../../core/index.ts';
import type { OrderRow } from '../database.ts';
import type { Services } from '../services.ts';

const orderNo = z.string().regex(/^[A-Z0-9-]+$/);
const mailPayload = z.object({ orderNo });
type MailPayload = z.infer<typeof mailPayload>;
type WebhookPayload = { event: string; data: Record<string, string> };

const fileOf = (orderNo: string): string => `invoices/${orderNo}.pdf`;
const euros = (cents: number): string => `${(cents / 100).toFixed(2)} EUR`;

export function renderInvoiceJob({ db, files }: Services, mailInvoice: Job<MailPayload>) {
  return defineJob({
    name: 'invoice.render',
    payload: z.object({ orderNo }),
    priority: 'high',
    timeoutMs: 20_000,
    async handle(payload, ctx) {
      const order = await db.order(payload.orderNo);
      if (!order) throw new PermanentError(`There is no order ${payload.orderNo}.`);
      const pdf = new PdfDocument({ size: 'A4', margin: 56, info: { Title: `Invoice ${order.orderNo}` } });
      draw(pdf, order);
      pdf.end();
      await files.write(fileOf(order.orderNo), await buffer(pdf));
      await ctx.enqueue(mailInvoice, { orderNo: order.orderNo });
    },
  });
}

export function mailInvoiceJob({ db, files, mailer }: Services, callWebhook: Job<WebhookPayload>) {
  return defineJob({
    name: 'invoice.mail',
    queue: 'mail',
    payload: mailPayload,
    maxRetries: 5,
    retry: exponential({ baseMs: 30_000 }),
    timeoutMs: 30_000,
    // However often somebody asks for it: one mail per invoice and day.
    idempotencyKey: (payload) => payload.orderNo,
    async handle(payload, ctx) {
      const order = await db.order(payload.orderNo);
      if (!order) throw new PermanentError(`There is no order ${payload.orderNo}.`);
      const content = await buffer(await files.read(fileOf(order.orderNo)));
      await mailer.send({
        messageId: `<invoice-${order.orderNo}@harbour.example>`,
        to: order.email,
        subject: `Your invoice ${order.orderNo}`,
        text: `Dear ${order.name},\n\nthank you for your order. Your invoice is attached.\n\nHarbour Goods\n`,
        attachments: [{ filename: `${order.orderNo}.pdf`, content }],
      });
      await ctx.enqueue(callWebhook, {
        event: 'invoice.sent',
        data: { orderNo: order.orderNo, to: order.email },
      });
    },
  });
}

function draw(pdf: PDFKit.PDFDocument, order: OrderRow): void {
  const { quantity, unitPriceCents } = order;
  pdf.font('Helvetica-Bold').fontSize(22).text('Harbour Goods');
  pdf.font('Helvetica').fontSize(10).fillColor('#666').text('1 Quay Street, Portside').moveDown(3);
  pdf.fillColor('#000').fontSize(11).text(order.name).text(order.city).text(order.email).moveDown(2);
  pdf.font('Helvetica-Bold').fontSize(16).text(`Invoice ${order.orderNo}`);
  pdf.font('Helvetica').fontSize(11).text(`Ordered on ${order.orderedOn}`).moveDown();
  pdf.text(`${quantity} x ${order.item} at ${euros(unitPriceCents)}`);
  pdf
    .moveDown()
    .font('Helvetica-Bold')
    .text(`Total ${euros(quantity * unitPriceCents)}`);
}
