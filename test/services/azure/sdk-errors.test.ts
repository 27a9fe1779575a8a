import { expect, it } from 'vitest';
import { serviceBusError } from '../../../functions/azure/service-bus/errors.ts';
import { storageError } from '../../../functions/azure/storage/errors.ts';

const refused = new AggregateError([
  new Error('connect ECONNREFUSED ::1:5672'),
  new Error('connect ECONNREFUSED 127.0.0.1:5672'),
]);
const said = 'connect ECONNREFUSED ::1:5672, connect ECONNREFUSED 127.0.0.1:5672';

it('an error of all addresses of a host says what each one said', () => {
  expect(serviceBusError('sending', refused).message).toBe(
    `Service Bus failed while sending: AggregateError: ${said}`,
  );
  const table = { service: 'Table storage', where: 'table jobs' };
  expect(storageError(table, 'reading', refused).message).toBe(
    `Table storage failed while reading (table jobs): ${said}.`,
  );
});

it('an error without any text says its name', () => {
  expect(serviceBusError('sending', new TypeError()).message).toMatch(/: TypeError: TypeError$/);
});
