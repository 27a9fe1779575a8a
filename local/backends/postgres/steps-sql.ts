import { removeSome } from './sql.ts';

/** @param s the schema's name, quoted */
export const stepTable = (s: string): string => `
  CREATE TABLE ${s}.steps (
    name text COLLATE "C" PRIMARY KEY, version text NOT NULL, ends_at bigint NOT NULL, text text NOT NULL
  );
  CREATE INDEX steps_ends_at ON ${s}.steps (ends_at);`;

/** One step of a purge: how many texts past the time `now` it removed. */
export const purgeSteps = (s: string, now: string): string =>
  removeSome(`${s}.steps`, 'name', `ends_at <= (SELECT ${now}) ORDER BY ends_at`);
