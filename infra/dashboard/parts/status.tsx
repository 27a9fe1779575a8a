/** Coloured badges. The word alone has the same meaning as its colour. */

const tones: Readonly<Record<string, string>> = {
  pending: 'plain',
  processing: 'busy',
  retrying: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: 'plain',
  expired: 'warn',
  acked: 'good',
  requeued: 'warn',
  'dead-lettered': 'bad',
  rejected: 'bad',
  'skipped-idempotent': 'plain',
  interrupted: 'warn',
  healthy: 'good',
  unhealthy: 'warn',
  gone: 'bad',
  critical: 'bad',
  warning: 'warn',
  info: 'plain',
  begun: 'busy',
  done: 'good',
  sending: 'busy',
  running: 'busy',
  cancelling: 'warn',
  complete: 'good',
  succeeded: 'good',
  slept: 'good',
  received: 'good',
  'timed out': 'warn',
};

type Tone = 'plain' | 'busy' | 'warn' | 'good' | 'bad';

export function Badge({ word, tone }: { word: string; tone?: Tone }) {
  return <span class={`badge ${tone ?? tones[word] ?? 'plain'}`}>{word}</span>;
}
