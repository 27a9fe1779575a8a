/** Days of sign-ups and reports of the example, in milliseconds. */

import { afterEach, beforeEach, expect, it } from 'vitest';
import { confirm, signUp } from '../../../examples/app/jobs/sign-up.ts';
import { setReportHour } from '../../../examples/app/jobs/tenant-report.ts';
import { writePictures, yesterdaysOrders } from '../../../examples/demo/samples.ts';
import { openTestShop } from './shop.ts';

let shop: ReturnType<typeof openTestShop>;
beforeEach(() => {
  shop = openTestShop();
});
afterEach(() => shop.close());

const anna = { name: 'Anna', email: 'anna@customer.example' };
const ben = { name: 'Ben', email: 'ben@customer.example' };
/** As it stands in the link of the first mail. */
const tokenFor = ({ email }: { email: string }) =>
  /\/confirm\/(\S+)/.exec(shop.mails.find(({ to }) => to === email)!.text)![1]!;
const subjects = () => shop.mails.map(({ to, subject }) => `${subject} to ${to.split('@')[0]}`);

it('welcomes, waits for the confirmation and sends tips a day later', async () => {
  const { t, jobs } = shop;
  const id = await signUp(t.client, jobs.signUp, anna);
  await t.runFor('2d');
  expect(subjects()).toEqual(['Welcome aboard to anna']);
  await confirm(t.client, tokenFor(anna), true);
  await t.runFor('10d');
  expect(subjects()).toEqual(['Welcome aboard to anna', 'Three tips to anna']);
  expect((await t.status(id))?.output).toEqual({ confirmed: true });
});

it('reminds after three days, and ends three days later', async () => {
  const { t, jobs } = shop;
  const ids = [await signUp(t.client, jobs.signUp, anna), await signUp(t.client, jobs.signUp, ben)];
  await t.runFor('4d');
  await confirm(t.client, tokenFor(ben), false); // after the reminder, and without the newsletter
  await t.runFor('10d');
  expect(subjects()).toEqual([
    ...['Welcome aboard to anna', 'Welcome aboard to ben'],
    ...['Are you still there? to anna', 'Are you still there? to ben'],
  ]);
  const outputs = ids.map(async (id) => (await t.status(id))?.output);
  expect(await Promise.all(outputs)).toEqual([{ confirmed: false }, { confirmed: true }]);
});

it('takes a confirmation that comes before the job waits', async () => {
  const { t, jobs, mails, postman } = shop;
  postman.deliver = async (mail) => {
    mails.push(mail);
    if (mail.subject === 'Welcome aboard') await confirm(t.client, tokenFor(anna), true);
  };
  await signUp(t.client, jobs.signUp, anna);
  await t.runFor('2d');
  expect(subjects()).toEqual(['Welcome aboard to anna', 'Three tips to anna']);
});

it('sends one welcome to who signs up twice, and none again when the mail server was down', async () => {
  const { t, jobs, postman } = shop;
  const first = await signUp(t.client, jobs.signUp, anna);
  expect(await signUp(t.client, jobs.signUp, anna)).toBe(first);
  await t.drain();
  const { deliver } = postman;
  postman.deliver = () => Promise.reject(new Error('451 try again later'));
  await t.runFor('3d'); // the reminder fails
  postman.deliver = deliver;
  await t.runFor('1d');
  expect(subjects()).toEqual(['Welcome aboard to anna', 'Are you still there? to anna']);
});

it('reports at the hour that each tenant has chosen, in her time zone', async () => {
  const { t, jobs, db, mails } = shop;
  db.saveBatch({ importId: 'y', tenantId: 'acme', rows: yesterdaysOrders(20), refused: [] });
  const acme = { tenantId: 'acme', email: 'boss@acme.example', hour: 7, timezone: 'Europe/Berlin' };
  const set = (hour: number | null) => setReportHour(t.client, jobs.tenantReport, { ...acme, hour });
  expect(new Date((await set(7))!).toISOString()).toBe('2026-01-16T06:00:00.000Z');
  await set(9); // she has changed her mind
  const reports = async (time: string) => {
    await t.runFor(time);
    return mails.filter(({ to }) => to === acme.email).length;
  };
  expect(await reports('19h')).toBe(0); // 07:00 UTC, 08:00 in Berlin
  expect(await reports('1h')).toBe(1);
  expect(mails[0]?.subject).toMatch(/^Your sales on \d+ days$/);
  expect(await reports('3d')).toBe(4);
  await set(null);
  expect(await reports('2d')).toBe(4);
  await expect(set(25)).rejects.toThrow(/OPTION|cron/);
});

it('keeps no record of a thumbnail', async () => {
  const { t, jobs, folder } = shop;
  const [file] = await writePictures(folder, 1);
  const { id } = await t.enqueue(jobs.thumbnail, { file: file!, widthPx: 160 });
  expect(await t.drain()).toMatchObject([{ outcome: 'acked' }]);
  expect(await t.status(id)).toBeNull();
});
