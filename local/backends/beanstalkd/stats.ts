/** The YAML of `stats-job`, `stats-tube` and `list-tubes`: one `name: value` per line, so simple that it needs no parser. */

/** What a server counts of one job. */
export interface JobStats {
  readonly tube: string;
  readonly state: 'ready' | 'delayed' | 'reserved' | 'buried';
  readonly pri: number;
  readonly ageSeconds: number;
  readonly ttrSeconds: number;
  /** Until its lease ends, or its delay. */
  readonly leftSeconds: number;
  readonly reserves: number;
  /** How many reservations their worker did not end: its connection was lost, or its time was up. */
  readonly losses: number;
}

export function jobStatsOf(text: string): JobStats {
  const state = wordIn(text, '\nstate: ') as JobStats['state'];
  const reserves = numberIn(text, '\nreserves: ');
  const ended = reserves - (state === 'reserved' ? 1 : 0);
  return {
    tube: wordIn(text, '\ntube: '),
    state,
    pri: numberIn(text, '\npri: '),
    ageSeconds: numberIn(text, '\nage: '),
    ttrSeconds: numberIn(text, '\nttr: '),
    leftSeconds: numberIn(text, '\ntime-left: '),
    reserves,
    losses: Math.max(0, ended - numberIn(text, '\nreleases: ') - numberIn(text, '\nburies: ')),
  };
}

export interface TubeStats {
  readonly ready: number;
  readonly delayed: number;
  readonly reserved: number;
  readonly buried: number;
  readonly paused: boolean;
}

export function tubeStatsOf(text: string): TubeStats {
  return {
    ready: numberIn(text, '\ncurrent-jobs-ready: '),
    delayed: numberIn(text, '\ncurrent-jobs-delayed: '),
    reserved: numberIn(text, '\ncurrent-jobs-reserved: '),
    buried: numberIn(text, '\ncurrent-jobs-buried: '),
    paused: numberIn(text, '\npause-time-left: ') > 0,
  };
}

export function tubesOf(text: string): string[] {
  const lines = text.split('\n');
  return lines.filter((line) => line.startsWith('- ')).map((line) => line.slice(2));
}

/** The server quotes names that YAML would read as something else. */
function wordIn(text: string, name: string): string {
  const start = text.indexOf(name);
  if (start < 0) return '';
  const from = start + name.length;
  const end = text.indexOf('\n', from);
  const word = text.slice(from, end < 0 ? text.length : end);
  return word.startsWith('"') ? word.slice(1, -1) : word;
}

/** Digit by digit: each lease reads eight numbers, and texts made of them would be most of its garbage. */
function numberIn(text: string, name: string): number {
  const start = text.indexOf(name);
  let number = 0;
  if (start < 0) return number;
  for (let at = start + name.length; ; at++) {
    const digit = text.charCodeAt(at) - 48;
    if (!(digit >= 0 && digit <= 9)) return number;
    number = number * 10 + digit;
  }
}
