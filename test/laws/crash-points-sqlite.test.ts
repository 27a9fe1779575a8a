import { describeCrashPoints } from './crash-points.ts';

describeCrashPoints('sqlite', 1);
