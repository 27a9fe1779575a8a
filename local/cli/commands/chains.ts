import type { Chain, ChainLinkView } from '../../../core/kernel/app/chain.ts';
import { words } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { notFound } from '../errors.ts';
import { type Column, plain } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { change } from './change.ts';

const idArgument = { name: '<id>', text: 'whole id of a chain', parse: words };

async function chainIn(session: Session, target: string) {
  const found = await (await session.operator()).chains.get(target);
  if (found) return { target, found };
  throw notFound(
    `There is no chain "${plain(target)}". \`longshore jobs show\` of a link prints the id of its chain.`,
  );
}

const show = defineCommand({
  path: 'chains show',
  summary: 'show the links and the progress of a chain',
  about:
    'Reads the records of the jobs. A link without a status is not enqueued yet, or its record has been deleted.',
  args: [idArgument],
  flags: {},
  examples: ['longshore chains show video-1042'],
  exits: { 1: 'failed', 2: 'the command line is wrong', 3: 'no such chain' },
  async run({ args: [id = ''], session, ui }) {
    const { found: chain } = await chainIn(session, id);
    return { data: { ...chain }, text: `${headOf(chain)}\n\n${ui.table(rowsOf(chain), columns)}` };
  },
});

const headOf = ({ id, state, link, links }: Chain): string =>
  `chain ${id}: ${state}, link ${link} of ${links.length}`;

interface Row extends Pick<ChainLinkView, 'link'> {
  readonly status: string;
  readonly job: string;
  readonly id: string;
  readonly error: string;
}

const rowsOf = ({ links }: Chain): Row[] =>
  links.flatMap(({ link, jobs }) =>
    jobs.map(({ id, job, record }) => {
      const { status = '', error = null } = record ?? {};
      return { link, status, job, id, error: plain(error ?? '') };
    }),
  );

const columns: readonly Column<Row>[] = [
  { title: 'link', align: 'right', value: ({ link }) => String(link) },
  {
    title: 'status',
    value: ({ status }) => status,
    style: ({ status }) => (status === 'failed' ? 'red' : null),
  },
  { title: 'job', value: ({ job }) => job },
  { title: 'id', value: ({ id }) => id },
  { title: 'error', value: ({ error }) => error },
];

const cancel = change('chains.cancel', {
  path: 'chains cancel',
  about: 'A running job is aborted.',
  example: 'video-1042',
  arg: idArgument,
  find: chainIn,
  question: (found) => ({ many: 1, text: `${headOf(found)}. Cancel it?` }),
  data: (id, result) => ({ id, result }),
});

export const chainsCommands: readonly Command[] = [show, cancel];
