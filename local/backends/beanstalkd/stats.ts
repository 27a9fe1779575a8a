/** The YAML of `stats-job`, `stats-tube` and `list-tubes`: one `name: value` per line, and nothing that would take a parser. */

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
  /** How many reservations ended with no word of their worker: it lost the connection, or its time was up. */
  readonly losses: number;
}

/** As every version writes it: each claim reads one, so it is read in one go. */
const usualOrder =
  /^---\nid: \d+\ntube: "?([^"\n]+)"?\nstate: (\w+)\npri: (\d+)\nage: (\d+)\ndelay: \d+\nttr: (\d+)\ntime-left: (\d+)\nfile: \d+\nreserves: (\d+)\ntimeouts: \d+\nreleases: (\d+)\nburies: (\d+)\n/;

export function jobStatsOf(text: string): JobStats {
  const names = ['tube', 'state', 'pri', 'age', 'ttr', 'time-left', 'reserves', 'releases', 'buries'];
  const words = usualOrder.exec(text)?.slice(1) ?? names.map((name) => wordIn(text, name));
  const [tube = '', word = ''] = words;
  const [pri, age, ttr, left, reserves, releases, buries] = words.slice(2).map((one) => Number(one) || 0);
  const state = word as JobStats['state'];
  const ended = reserves! - (state === 'reserved' ? 1 : 0);
  const losses = Math.max(0, ended - releases! - buries!);
  return {
    tube,
    state,
    pri: pri!,
    ageSeconds: age!,
    ttrSeconds: ttr!,
    leftSeconds: left!,
    reserves: reserves!,
    losses,
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
    ready: numberIn(text, 'current-jobs-ready'),
    delayed: numberIn(text, 'current-jobs-delayed'),
    reserved: numberIn(text, 'current-jobs-reserved'),
    buried: numberIn(text, 'current-jobs-buried'),
    paused: numberIn(text, 'pause-time-left') > 0,
  };
}

export function tubesOf(text: string): string[] {
  const lines = text.split('\n');
  return lines.filter((line) => line.startsWith('- ')).map((line) => line.slice(2));
}

/** Quotes are for names that YAML would take for something else. */
function wordIn(text: string, name: string): string {
  const start = text.indexOf(`\n${name}: `);
  if (start < 0) return '';
  const from = start + name.length + 3;
  const end = text.indexOf('\n', from);
  return text.slice(from, end < 0 ? text.length : end).replace(/^"(.*)"$/, '$1');
}

const numberIn = (text: string, name: string): number => Number(wordIn(text, name)) || 0;
