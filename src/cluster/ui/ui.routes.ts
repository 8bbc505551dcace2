// Serves the web console, unless it is disabled for the kind of port, and opens and ends its sessions.

import { type BoundRoute, bind, type Context, type Reply, reply } from '#contract/route.ts';
import { type Sessions, sessionCookie } from '#http/sessions.ts';
import { nodeRefusals } from '../refusals/nodes.refusals.ts';
import type { SecurityState } from '../security/security-state.ts';
import type { readConsoleFile } from './console-files.adapter.ts';
import { EndSession, GetAsset, GetConsole, GetRoot, OpenSession } from './ui.contract.ts';

export interface UiDeps {
  security: { readonly state: Pick<SecurityState, 'disableUIOverHttp' | 'disableUIOverHttps'> };
  readFile: typeof readConsoleFile;
  sessions: Sessions;
}

/** Allows only the console's own files, and requests to this node. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css' };

export function uiRoutes(deps: UiDeps): BoundRoute[] {
  return [
    bind(GetRoot, () => reply.empty(301, { Location: '/ui/' })),
    bind(GetConsole, async (_, context) => {
      checkEnabled(deps, context);
      const headers = {
        'Content-Type': 'text/html; charset=utf-8',
        'Content-Security-Policy': contentPolicy,
      };
      const answer = await serve(deps, 'index.html', context, headers);
      if (!answer) throw nodeRefusals.consoleNotBuilt();
      return answer;
    }),
    bind(GetAsset, async ({ params }, context) => {
      checkEnabled(deps, context);
      const [, name, kind] = /^([\w-]+\.(js|css))$/.exec(params['file'] ?? '') ?? [];
      if (name === undefined || kind === undefined) throw nodeRefusals.pageDisabled();
      const answer = await serve(deps, `assets/${name}`, context, {
        'Content-Type': `${types[kind]}; charset=utf-8`,
        'Content-Security-Policy': contentPolicy,
        // The name contains a digest of the content.
        'Cache-Control': 'public, max-age=31536000, immutable',
      });
      if (!answer) throw nodeRefusals.pageDisabled();
      return answer;
    }),
    bind(OpenSession, (_, context) => {
      const { authorization } = context.headers;
      if (typeof authorization !== 'string') throw nodeRefusals.sessionWithoutPassword();
      return reply.empty(200, cookieHeader(deps.sessions.open(context.identity, authorization), context));
    }),
    bind(EndSession, (_, context) => {
      deps.sessions.end({ headers: context.headers, port: context.local.port });
      return reply.empty(200, cookieHeader(null, context));
    }),
  ];
}

function checkEnabled({ security }: UiDeps, { tls }: Context): void {
  const { disableUIOverHttp, disableUIOverHttps } = security.state;
  if (tls ? disableUIOverHttps : disableUIOverHttp) throw nodeRefusals.pageDisabled();
}

const cookieHeader = (token: string | null, { local, tls }: Context) => ({
  'Set-Cookie': sessionCookie(token, { port: local.port, tls }),
});

/** Null if there is no such file. */
async function serve(
  { readFile }: UiDeps,
  name: string,
  { headers }: Context,
  answered: Readonly<Record<string, string>>,
): Promise<Reply | null> {
  const file = await readFile(name, { gzip: /\bgzip\b/.test(String(headers['accept-encoding'])) });
  if (!file) return null;
  return {
    kind: 'forwarded',
    status: 200,
    headers: {
      ...answered,
      'Referrer-Policy': 'no-referrer',
      Vary: 'Accept-Encoding',
      'Content-Length': String(file.bytes.length),
      ...(file.isCompressed && { 'Content-Encoding': 'gzip' }),
    },
    source: onePart(file.bytes),
  };
}

async function* onePart(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}
