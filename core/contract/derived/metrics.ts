/**
 * Metrics: how the attempts of a job ended, per step of time. A store keeps texts under keys. Their content, how two are added and when they are
 * rolled up is in `core/features/metrics`, once for all stores.
 */

export type MetricStep = 'minute' | 'hour' | 'day';

/** One text per key. */
export interface MetricKey {
  readonly step: MetricStep;
  /** Start of the step, epoch ms; days begin at midnight UTC. */
  readonly at: number;
  readonly queue: string;
  /** Empty if no known job is meant. */
  readonly job: string;
  /** The worker that counted, up to 200 characters; empty once the rows of all workers are added up. */
  readonly source: string;
}

export interface MetricRow extends MetricKey {
  /** JSON, typically 100 to 2,000 characters. A store returns these exact characters and must not parse them. */
  readonly body: string;
}

export interface MetricFilter {
  readonly step: MetricStep;
  /** Steps that began at `from` or later and before `to`. */
  readonly from: number;
  readonly to: number;
  readonly queue?: string;
  readonly job?: string;
}

export interface MetricStore {
  /**
   * Writes each row over the one with the same key. Repeating a write changes nothing, and the last of two rows with one key wins. A failed
   * write may have written some of its rows. The cost must not grow with the number of jobs counted.
   */
  write(rows: readonly MetricRow[]): Promise<void>;
  /** Rows in any order. */
  read(filter: MetricFilter): Promise<MetricRow[]>;
  /**
   * Removes steps that began before `before`. Bounded: returns how many rows it removed; call it until that is 0. A store whose rows expire by
   * themselves returns 0.
   */
  purge(step: MetricStep, before: number): Promise<number>;
}
