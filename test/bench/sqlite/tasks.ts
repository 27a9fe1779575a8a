import * as longshore from '../kit/longshore.ts';
import { unlimitedTurns } from '../kit/unlimited.ts';
import { plainjob } from './plainjob.ts';
import { rawBulk, rawSingle } from './raw.ts';

export const tasks = { ...longshore, plainjob, rawBulk, rawSingle, unlimitedTurns };
