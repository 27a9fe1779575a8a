import type { Command } from '../definition.ts';
import { editDead } from './dead-edit.ts';
import { groupDead, listDead } from './dead-list.ts';
import { discardDead, retryDead } from './dead-settle.ts';
import { showDead } from './dead-show.ts';

export const deadCommands: readonly Command[] = [
  listDead,
  groupDead,
  showDead,
  editDead,
  retryDead,
  discardDead,
];
