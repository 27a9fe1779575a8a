/** What the server really does for a call, statements inside of functions included: the plans that it reports. */

import pg from 'pg';

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Actual Rows': number;
  'Actual Loops': number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number;
  'Shared Read Blocks'?: number;
  Plans?: PlanNode[];
}

/** Of all statements of a call together. */
export interface Work {
  /** Rows that were read from tables, those that a filter threw away included. */
  rows: number;
  /** 8 kB pages that were looked at. */
  pages: number;
  /** Tables that were read from end to end although they hold more than a few rows. */
  scanned: string[];
  /** The most rows that one sort had to put in order. */
  sorted: number;
}

/** Tables with fewer rows are one page or two: reading them whole is quickest. */
const fewRows = 200;

export interface Explainer {
  /** Of one connection, so that a plan that a function keeps is used again. */
  readonly pool: pg.Pool;
  /** What the server did while `call` ran. */
  during(call: () => Promise<unknown>): Promise<Work>;
}

/** @param url of a superuser: nobody else may load `auto_explain` */
export function createExplainer(url: string): Explainer {
  const settings = {
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_nested_statements': 'on',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_buffers': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice',
  };
  const options = Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
  const pool = new pg.Pool({ connectionString: url, max: 1, options });
  const plans: PlanNode[] = [];
  pool.on('connect', (client) => {
    client.on('notice', ({ message = '' }) => {
      const from = message.indexOf('{');
      if (/^duration: .* plan:/.test(message)) plans.push(JSON.parse(message.slice(from)).Plan as PlanNode);
    });
  });
  return {
    pool,
    async during(call) {
      plans.length = 0;
      await call();
      const work: Work = { rows: 0, pages: 0, scanned: [], sorted: 0 };
      for (const plan of plans) {
        add(plan, work);
        work.pages = Math.max(work.pages, pagesOf(plan)); // of the outermost: it has those of what it calls
      }
      return work;
    },
  };
}

const pagesOf = (node: PlanNode): number =>
  (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);

function add(node: PlanNode, work: Work): void {
  const loops = node['Actual Loops'];
  const table = node['Relation Name'];
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  const rows = (node['Actual Rows'] + removed) * loops;
  // The server's own tables do not grow with the jobs.
  if (table !== undefined && !table.startsWith('pg_') && /Scan$/.test(node['Node Type'])) {
    if (node['Node Type'] !== 'Seq Scan') work.rows += rows;
    else if (rows > fewRows) work.scanned.push(table);
  }
  if (/Sort$/.test(node['Node Type'])) {
    const [input] = node.Plans ?? [];
    if (input) work.sorted = Math.max(work.sorted, input['Actual Rows']);
  }
  for (const child of node.Plans ?? []) add(child, work);
}
