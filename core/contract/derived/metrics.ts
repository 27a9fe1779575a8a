/**
 * The seam for numbers: what became of the attempts of a job in a step of time. A store keeps texts under keys; what is in them, how
 * two add up and when they are rolled up is in `core/features/metrics`, once for all stores.
 */

export type MetricStep = 'minute' | 'hour' | 'day';

/** One text per key. */
export interface MetricKey {
  readonly step: MetricStep;
  /** When the step began, epoch ms; days begin at midnight UTC. */
  readonly at: number;
  readonly queue: string;
  /** Empty for what belongs to no known job. */
  readonly job: string;
  /** The worker that counted, up to 200 letters; empty once all of them are added up. */
  readonly source: string;
}

export interface MetricRow extends MetricKey {
  /** JSON of some 100 to 2,000 characters. A store returns these exact characters and never looks inside. */
  readonly body: string;
}

export interface MetricFilter {
  readonly step: MetricStep;
  /** Steps that began at `from` or later, and before `to`. */
  readonly from: number;
  readonly to: number;
  readonly queue?: string;
  readonly job?: string;
}

export interface MetricStore {
  /**
   * Writes each row over the one of the same key: the same write twice changes nothing, and of two rows with one key the last one
   * stays. A write that fails may have written some of its rows. Costs no more per job that was counted.
   */
  write(rows: readonly MetricRow[]): Promise<void>;
  /** In any order. */
  read(filter: MetricFilter): Promise<MetricRow[]>;
  /**
   * Removes steps that began before this. Bounded: returns how many rows went; call it until that is 0. A store that removes rows by
   * itself when they are old answers 0.
   */
  purge(step: MetricStep, before: number): Promise<number>;
}
