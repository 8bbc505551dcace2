// The entry of the console.
import { render } from 'preact';
import './kit/tokens.css';
import './kit/kit.css';
import './shell/shell.css';
import { applyTheme } from './kit/theme.ts';
import { Shell } from './shell/shell.tsx';

applyTheme();
render(<Shell />, document.getElementById('console') as HTMLElement);
