import { randomBytes } from 'node:crypto';
import { flag } from '../config/flags.ts';
import { kid } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';

const make = defineCommand({
  path: 'keys new',
  summary: 'make a signing key',
  about:
    'Prints 32 random bytes in the form of LONGSHORE_SIGNING_KEYS. The key is secret and not stored: put it into your secret store. To rotate, append it (`old:...,new:...`), deploy everywhere, then move it to the front.',
  flags: {
    kid: flag('--kid <id>', 'its id, which is part of every message; by default k and the date', kid),
  },
  examples: ['longshore keys new', 'export LONGSHORE_SIGNING_KEYS="$(longshore keys new --kid k1)"'],
  async run({ flags, io }) {
    const id = flags.kid ?? `k${new Date(io.clock.now()).toISOString().slice(0, 10).replaceAll('-', '')}`;
    const key = `${id}:${randomBytes(32).toString('base64')}`;
    return { data: { kid: id, key }, text: key };
  },
});

const list = defineCommand({
  path: 'keys list',
  summary: 'list the ids of the signing keys in use, never the keys',
  about: 'The first key signs. All keys verify.',
  examples: ['longshore keys list'],
  exits: { 1: 'failed, or there is no key' },
  async run({ session, ui }) {
    const { app } = await session.config();
    const ring = app.keyRing();
    const keys = ring.kids.map((one) => ({ kid: one, signs: one === ring.kid }));
    return {
      data: { keys },
      text: ui.table(keys, [
        { title: 'kid', value: (row) => row.kid },
        { title: '', value: (row) => (row.signs ? 'signs and verifies' : 'verifies') },
      ]),
    };
  },
});

export const keysCommands: readonly Command[] = [make, list];
