// Serves the page of this node, unless it is disabled for the kind of port.

import { type BoundRoute, bind, type Context, type Reply, reply } from '#contract/route.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import type { SecurityState } from '../security/security-state.ts';
import { GetPage, GetRoot, GetScript, GetStyle } from './ui.contract.ts';
import type { UiFile } from './ui-files.adapter.ts';

export interface UiDeps {
  security: { readonly state: Pick<SecurityState, 'disableUIOverHttp' | 'disableUIOverHttps'> };
  readFile: (name: UiFile) => Promise<string>;
}

/** Allows only the page's own files, and requests to this node. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function uiRoutes({ security, readFile }: UiDeps): BoundRoute[] {
  const serve =
    (name: UiFile, type: string) =>
    async (_: unknown, context: Context): Promise<Reply> => {
      const { disableUIOverHttp, disableUIOverHttps } = security.state;
      if (context.tls ? disableUIOverHttps : disableUIOverHttp) throw nodeRefusals.pageDisabled();
      return reply.text(await readFile(name), 200, {
        'Content-Type': `${type}; charset=utf-8`,
        'Content-Security-Policy': contentPolicy,
        'Referrer-Policy': 'no-referrer',
      });
    };
  return [
    bind(GetRoot, () => reply.empty(301, { Location: '/ui/' })),
    bind(GetPage, serve('index.html', 'text/html')),
    bind(GetStyle, serve('style.css', 'text/css')),
    bind(GetScript, serve('app.js', 'text/javascript')),
  ];
}
