/** Starts the page. */

import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import '../look/base.css';
import '../look/frame.css';
import '../look/parts.css';
import '../look/forms.css';
import '../look/tables.css';
import { listenForKeys } from '../data/keys.ts';
import { connect } from '../data/live.ts';
import { followAddress } from '../data/route.ts';
import { followTheme } from '../data/theme.ts';
import { Frame } from './frame.tsx';

followTheme();
followAddress();
listenForKeys();
void connect();
render(<Frame />, document.querySelector('#page')!);
