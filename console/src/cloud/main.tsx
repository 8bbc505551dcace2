// The entry of the console of the cloud.
import { render } from 'preact';
import '../kit/tokens.css';
import '../kit/kit.css';
import '../shell/shell.css';
import './cloud.css';
import { applyTheme } from '../kit/theme.ts';
import { CloudShell } from './shell.tsx';

applyTheme();
render(<CloudShell />, document.getElementById('console') as HTMLElement);
