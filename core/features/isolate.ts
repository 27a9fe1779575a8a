/** The first file of a thread or process for isolated handlers. It is here because it needs the contexts of all features. */

import type { ContextDoors } from '../kernel/attempt/context.ts';
import { serve } from './sandbox/inside.ts';
import { installed } from './table.ts';

serve(installed.context as ContextDoors);
