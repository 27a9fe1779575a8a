/** Labels within bounds: a server of metrics keeps a series for each set of labels, and dies of too many. */

export interface JobLabels extends Readonly<Record<string, string>> {
  readonly queue: string;
  readonly job: string;
}

export interface LabelLimits {
  readonly maxLabelSets: number;
  readonly maxTenants: number;
}

export const other = 'other';
/** Stands for a job that this app does not know: its name is not verified, and may be anything. */
export const unknownJob = 'unknown';

/** Those of a job's series, without and with its tenant. */
export interface LabelSets {
  of(queue: string, job: string): JobLabels;
  withTenant(queue: string, job: string, tenantId: string | null): JobLabels;
}

/** @param overflow called whenever something is counted under `other` */
export function createLabelSets({ maxLabelSets, maxTenants }: LabelLimits, overflow: () => void): LabelSets {
  const pairs = boundedSets(maxLabelSets, overflow);
  const triples = boundedSets(maxLabelSets, overflow);
  const tenants = new Set<string>();

  function tenantOf(tenantId: string | null): string {
    if (tenantId === null || tenants.has(tenantId)) return tenantId ?? ''; // an empty label is none
    if (tenants.size < maxTenants) {
      tenants.add(tenantId);
      return tenantId;
    }
    overflow();
    return other;
  }

  return {
    of: (queue, job) => pairs(queue, job),
    withTenant: (queue, job, tenantId) => triples(queue, job, tenantOf(tenantId)),
  };
}

type Find = (queue: string, job: string, tenant?: string) => JobLabels;

/** The first `most` sets have their names. What comes later is `other`, for each of at most `most` queues. */
function boundedSets(most: number, overflow: () => void): Find {
  const sets = new Map<string, JobLabels>();
  const others = new Map<string, JobLabels>();

  function kept(into: Map<string, JobLabels>, key: string, labels: JobLabels): JobLabels {
    into.set(key, labels);
    return labels;
  }

  return (queue, job, tenant) => {
    // No name has a space, and a tenant, which may have, is the last.
    const key = tenant === undefined ? `${queue} ${job}` : `${queue} ${job} ${tenant}`;
    const known = sets.get(key);
    if (known) return known;
    const more = tenant === undefined ? null : { tenant };
    if (sets.size < most) return kept(sets, key, { queue, job, ...more });
    overflow();
    const rest = more && { tenant: other };
    const name = others.has(queue) || others.size < most ? queue : other;
    return others.get(name) ?? kept(others, name, { queue: name, job: other, ...rest });
  };
}
