import type { Chain, ChainLinkView } from '../../../core/kernel/app/chain.ts';
import { words } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { notFound } from '../errors.ts';
import { type Column, plain } from '../output/ui.ts';

const idArgument = { name: '<id>', text: 'id of a chain, whole', parse: words };

const noChain = (id: string) =>
  notFound(`There is no chain "${plain(id)}". Its id stands in \`longshore jobs show\` of its links.`);

const show = defineCommand({
  path: 'chains show',
  summary: 'show the links of a chain, and how far it is',
  about:
    'It is read from the records of its jobs. A link without a status was not enqueued yet, or is no longer kept.',
  args: [idArgument],
  flags: {},
  examples: ['longshore chains show video-1042'],
  exits: { 1: 'failed', 2: 'the command line is wrong', 3: 'the chain is not known' },
  async run({ args, session, ui }) {
    const { chains } = await session.operator();
    const id = args[0] ?? '';
    const chain = await chains.get(id);
    if (!chain) throw noChain(id);
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

const texts = {
  cancelled: 'is cancelled',
  cancelling: 'is cancelled when the job that runs has heard of it',
  finished: 'has ended',
};

const cancel = defineCommand({
  path: 'chains cancel',
  summary: 'cancel the link of a chain that waits or runs, so that no further one begins',
  about: 'A job that runs is aborted.',
  would: 'cancel a chain',
  args: [idArgument],
  examples: ['longshore chains cancel video-1042 --yes'],
  exits: {
    1: 'failed, or not confirmed',
    2: 'the command line is wrong or --yes is missing, and nothing was done',
    3: 'the chain is not known',
  },
  async run({ args: [id = ''], session }) {
    const { chains } = await session.operator();
    const chain = await chains.get(id);
    if (!chain) throw noChain(id);
    return {
      many: 1,
      question: `${headOf(chain)}. Cancel it?`,
      async act() {
        const result = await chains.cancel(id);
        return { data: { id, result }, text: `Chain ${id} ${texts[result]}.` };
      },
    };
  },
});

export const chainsCommands: readonly Command[] = [show, cancel];
