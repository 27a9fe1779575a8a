/** Laws of jobs that are put off while they wait in a group. */

import assert from 'node:assert/strict';
import type { GroupOrder, OutgoingMessage } from '../../../core/contract/queue.ts';
import { bodiesOf, hour, type Kit, mail, minute } from './kit.ts';
import type { Law } from './law.ts';

const putOff = async (t: Kit, { id }: OutgoingMessage, ms = hour): Promise<void> => {
  const changed = await t.backend.pending!.change([{ queue: mail, id }], { notBefore: t.now() + ms });
  assert.deepEqual(changed, [true]);
};

async function putThree(t: Kit, order?: GroupOrder) {
  const how = { group: 'a', ...(order && { order }) };
  return [await t.put(how), await t.put(how), await t.put(how)] as const;
}

/** Takes one after the other and acks it, as long as any is ready. */
async function drained(t: Kit): Promise<string[]> {
  const bodies: string[] = [];
  for (let leases = await t.takeAll(1); leases.length > 0; leases = await t.takeAll(1)) {
    bodies.push(...bodiesOf(leases));
    assert.equal(await t.ack(leases[0]!), true);
  }
  return bodies;
}

export function waitingGroupLaws(declare: Law): void {
  const law: Law = (name, check) => declare(name, check, { needs: ['groups', 'rank of a retry'] });

  law(
    'the first of an ordered group that is put off holds the others, as one that snoozes does',
    async (t) => {
      const [first, ...others] = await putThree(t, 'wait');
      await putOff(t, first);
      assert.deepEqual(await drained(t), []);
      await putOff(t, first, 2 * hour);
      await t.advance(hour);
      assert.deepEqual(await drained(t), []);
      await putOff(t, first, minute);
      await t.advance(minute);
      assert.deepEqual(await drained(t), bodiesOf([first, ...others]));
    },
  );

  law('one that waits for its retry and is put off holds the others until then', async (t) => {
    const [first, ...others] = await putThree(t, 'wait');
    await t.backend.nack(await t.take(), { delayMs: minute, countAttempt: true });
    await putOff(t, first);
    await t.advance(minute);
    assert.deepEqual(await drained(t), []);
    await t.advance(hour);
    assert.deepEqual(await drained(t), bodiesOf([first, ...others]));
  });

  for (const order of ['step-aside', undefined] as const)
    law(
      `the first of ${order ? 'a group that steps aside' : 'an unordered group'} holds nobody when it is put off`,
      async (t) => {
        const [first, ...others] = await putThree(t, order);
        await putOff(t, first);
        assert.deepEqual(await drained(t), bodiesOf(others));
        await t.advance(hour);
        assert.deepEqual(await drained(t), bodiesOf([first]));
      },
    );

  for (const order of ['wait', 'step-aside', undefined] as const)
    law(
      `one in the line of ${order ? `a group of order "${order}"` : 'an unordered group'} is passed by when it is put off`,
      async (t) => {
        const [first, second, third] = await putThree(t, order);
        await putOff(t, third, minute);
        const lease = await t.take();
        await putOff(t, second);
        assert.equal(await t.ack(lease), true);
        assert.equal(lease.body, first.body);
        assert.deepEqual(await drained(t), []);
        await t.advance(minute);
        assert.deepEqual(await drained(t), bodiesOf([third]));
        await t.advance(hour);
        assert.deepEqual(await drained(t), bodiesOf([second]));
      },
    );
}
